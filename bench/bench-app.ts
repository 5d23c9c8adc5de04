/** An app's address and secret: what one needs to connect to it and to trigger events in it. */
export interface AppAddress {
  readonly host: string;
  readonly port: number;
  readonly appId: string;
  readonly key: string;
  readonly secret: string;
}

/** The app that the servers started here are given. It only ever listens on the loopback interface. */
export const benchApp = { id: '1', key: 'bench-key', secret: 'bench-secret' } as const;

/** The address of the benchmark's own app on this machine. */
export function benchAppAt(port: number): AppAddress {
  return {
    host: '127.0.0.1',
    port,
    appId: benchApp.id,
    key: benchApp.key,
    secret: benchApp.secret,
  };
}
