import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { fanfareOf, type Program, startProgram } from './program.ts';

/** `examples/chat`, started as its README says. */

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  const directory = parts.use(temporaryDirectory());
  const server = parts.use(await fanfareOf('chat', directory.path));
  const FANFARE_PORT = String(server.port);
  const backend = parts.use(
    await startProgram('chat', 'backend', { environment: { FANFARE_PORT, BACKEND_PORT: '0' } }),
  );
  environment = { FANFARE_PORT, BACKEND_PORT: new URL(await backend.origin).port };
});

afterAll(async () => {
  await parts.disposeAsync();
});

const enter = (...args: readonly string[]): Promise<Program> =>
  startProgram('chat', 'chat', { args, environment });

describe('the example of a chat', () => {
  it('shows who is there, who comes, what they write and who leaves', async () => {
    await using ann = await enter('ann');
    expect(await ann.lines.next()).toBe('* in lobby: ann');
    await using bob = await enter('bob');
    expect(await bob.lines.next()).toBe('* in lobby: ann, bob');
    expect(await ann.lines.next()).toBe('* bob came');

    bob.type('Hello, Ann');
    expect(await ann.lines.next()).toBe('bob: Hello, Ann');
    ann.type('Hello, Bob');
    expect(await bob.lines.next()).toBe('ann: Hello, Bob');

    expect(await bob.end()).toBe(0);
    expect(await ann.lines.next()).toBe('* bob left');
  });

  it('lets nobody in whom the backend refuses', async () => {
    await using nobody = await enter('no name');
    expect(await nobody.lines.next().catch((error: Error) => error.message)).toContain(
      'not allowed',
    );
  });
});
