import { Inbox } from '../../testing/inbox.ts';

/** A script in another process, in any runtime, that reads and writes one JSON value per line. */
export class JsonProcess<T> implements Disposable {
  /** The values that it has printed. */
  readonly printed: Inbox<T>;
  private readonly process: Bun.Subprocess<'pipe', 'pipe', 'inherit'>;

  /** The script gets `argument` as JSON. */
  constructor(
    command: string,
    script: string,
    argument: unknown,
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.printed = new Inbox(`${command} ${script}`);
    this.process = Bun.spawn([command, script, JSON.stringify(argument)], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
      env: { ...process.env, NODE_NO_WARNINGS: '1', ...environment },
    });
    void this.read();
  }

  send(value: unknown): void {
    this.process.stdin.write(`${JSON.stringify(value)}\n`);
    this.process.stdin.flush();
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  [Symbol.dispose](): void {
    this.process.kill();
  }

  private async read(): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const bytes of this.process.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.printed.put(JSON.parse(line));
    }
    this.printed.fail(new Error('The process has ended'));
  }
}
