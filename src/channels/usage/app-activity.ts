/** What one app does now, on all servers. */
export interface AppActivity {
  readonly appId: string;
  readonly connections: number;
  /** Occupied channels. */
  readonly channels: number;
  /** Messages of today, UTC, including those that clients caused. */
  readonly messages: number;
  readonly clientMessages: number;
}
