import { join } from 'node:path';
import { Inbox } from '../../testing/inbox.ts';
import { spawnFanfare } from '../../testing/servers/fanfare.ts';
import { FREE_PORTS } from '../cli/run-fanfare.ts';

/** A program that an example consists of, started by a script of its `package.json`. */
export interface Program extends AsyncDisposable {
  /** What it prints, line by line. */
  readonly lines: Inbox<string>;
  /** Settles with the address that it prints when it listens. */
  readonly origin: Promise<string>;
  /** Types a line. */
  type(line: string): void;
  /** Ends its input, as Ctrl-D does; settles with its exit code. */
  end(): Promise<number>;
}

const EXAMPLES = join(import.meta.dir, '../../examples');

/** Starts Fanfare with the configuration file of an example, on free ports. */
export function fanfareOf(example: string, directory: string) {
  const file = join(EXAMPLES, example, 'fanfare.yaml');
  return spawnFanfare(['serve', '--config', file], directory, FREE_PORTS);
}

export async function startProgram(
  example: string,
  script: string,
  options: {
    readonly args?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<Program> {
  const cwd = join(EXAMPLES, example);
  const { scripts } = (await Bun.file(join(cwd, 'package.json')).json()) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const command = scripts[script];
  if (command === undefined) throw new Error(`${example} has no script "${script}"`);
  const child = Bun.spawn([...command.split(' '), ...(options.args ?? [])], {
    cwd,
    env: { ...process.env, ...options.environment },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const lines = new Inbox<string>(`${example}: ${command}`);
  const listening = Promise.withResolvers<string>();
  // Only some programs listen.
  listening.promise.catch(() => undefined);
  void readLines(child.stdout, (line) => {
    lines.put(line);
    const origin = /http:\/\/localhost:\d+$/.exec(line)?.[0];
    if (origin !== undefined) listening.resolve(origin);
  });
  const printed = new Response(child.stderr).text();
  void child.exited.then(async (exitCode) => {
    const failure = new Error(`${example}: "${command}" ended (${exitCode}): ${await printed}`);
    lines.fail(failure);
    listening.reject(failure);
  });
  return {
    lines,
    origin: listening.promise,
    type(line) {
      child.stdin.write(`${line}\n`);
      child.stdin.flush();
    },
    async end() {
      child.stdin.end();
      return await child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  }
}
