/** What a server says about resuming when it confirms a subscription. */
export interface ResumeAnswer {
  readonly ok: boolean;
  readonly id?: string;
  readonly missed: number;
}

/** How far a client has come in each channel. */
export class Places {
  constructor(after?: Readonly<Record<string, string | null | undefined>>);
  forget(name: string): void;
  /** There is a new connection. */
  connected(socketId: string): void;
  /** What to say with the subscription of a channel. */
  fieldsOf(name: string): { resume_after_id: string; resume_socket_ids: readonly string[] };
  /** Takes what the server says when it confirms a subscription; `true`: more was missed than it keeps. */
  confirmed(name: string, resumed: ResumeAnswer | undefined): boolean;
  /** The handlers of a channel have run for the event with this id. */
  handled(name: string, id: string | undefined): void;
  /** By channel, the id of the last event that its handlers got. */
  ids(): Record<string, string>;
}
