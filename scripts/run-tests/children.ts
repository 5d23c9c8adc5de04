import { constants } from 'node:os';

/** What ends a run: another signal than these leaves everything as it is. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** How long a program may take to end after a signal. Milliseconds. */
const END_MAX_MS = 3000;

/** Ends the run with an exit code; what there is to say was printed. */
export class RunEnded extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`The run ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/**
 * The programs of a run, one after the other. A signal to this process ends the one that runs, and the call that waits for it
 * throws `RunEnded`; so does every later one.
 */
export class Children implements Disposable {
  /** Added to the environment of this process. May be changed between two programs. */
  readonly env: Record<string, string>;
  readonly #cwd: string;
  #running: Bun.Subprocess | undefined;
  #signal: NodeJS.Signals | undefined;

  constructor(cwd: string, env: Record<string, string>) {
    this.#cwd = cwd;
    this.env = env;
    for (const name of SIGNALS) process.on(name, this.#end);
  }

  [Symbol.dispose](): void {
    for (const name of SIGNALS) process.off(name, this.#end);
  }

  /** Runs a program, prints what it prints while it runs, hands each line to `onLine`, and returns its exit code. */
  async show(
    command: readonly string[],
    onLine?: (line: string) => void,
    env: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    // The shell joins both outputs in the order in which they are written, and becomes the program.
    const joined = ['sh', '-c', 'exec "$@" 2>&1', 'sh', ...command];
    return await this.#run(joined, env, async (output) => {
      const decoder = new TextDecoder();
      let unfinished = '';
      for await (const bytes of output) {
        process.stdout.write(bytes);
        const lines = (unfinished + decoder.decode(bytes, { stream: true })).split('\n');
        unfinished = lines.pop() ?? '';
        for (const line of lines) onLine?.(line);
      }
      if (unfinished !== '') onLine?.(unfinished);
    });
  }

  /** Runs a program, and returns what it prints, without white space around it. Ends the run if it fails. */
  async read(command: readonly string[]): Promise<string> {
    let text = '';
    const exitCode = await this.#run(command, {}, async (output) => {
      text = await new Response(output).text();
    });
    if (exitCode !== 0) throw new RunEnded(exitCode);
    return text.trim();
  }

  async #run(
    command: readonly string[],
    env: Readonly<Record<string, string>>,
    take: (output: ReadableStream<Uint8Array>) => Promise<void>,
  ): Promise<number> {
    this.#throwIfEnded();
    const child = Bun.spawn([...command], {
      cwd: this.#cwd,
      env: { ...process.env, ...this.env, ...env },
      stdio: ['inherit', 'pipe', 'inherit'],
    });
    this.#running = child;
    // What it has started may hold its output open after it has ended by a signal.
    const reading = take(child.stdout);
    const exitCode = await child.exited;
    this.#running = undefined;
    this.#throwIfEnded();
    await reading;
    return exitCode;
  }

  readonly #end = (name: NodeJS.Signals): void => {
    this.#signal ??= name;
    const child = this.#running;
    child?.kill('SIGTERM');
    setTimeout(() => child?.kill('SIGKILL'), END_MAX_MS).unref();
  };

  #throwIfEnded(): void {
    if (this.#signal !== undefined) throw new RunEnded(128 + constants.signals[this.#signal]);
  }
}
