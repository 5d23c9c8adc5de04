import { commandOf } from './fanfare.ts';

/** A server that prints to a terminal, as for a person. */
export interface OnTerminal extends AsyncDisposable {
  /** All that it prints when it has started. */
  readonly printed: string;
  readonly port: number;
}

/** Starts `serve` on a terminal, and waits until it listens. */
export async function serveOnTerminal(
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<OnTerminal> {
  let printed = '';
  const { promise: listens, resolve } = Promise.withResolvers<void>();
  const child = Bun.spawn([...commandOf(), 'serve'], {
    cwd: directory,
    env: { ...process.env, ...environment },
    terminal: {
      cols: 200,
      rows: 50,
      data(_terminal, bytes) {
        printed += new TextDecoder().decode(bytes).replaceAll('\r\n', '\n');
        if (printed.includes('#token=')) resolve();
      },
    },
  });
  const ended = async () => {
    throw new Error(`The server ended with ${await child.exited}: ${printed}`);
  };
  await Promise.race([listens, ended()]);
  return {
    printed,
    port: Number(/^Channels .*:(\d+) /m.exec(printed)?.[1]),
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}
