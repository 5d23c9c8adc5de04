import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Ended, FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

/** Characters that strangers must not be able to send to a terminal. */
const UNSAFE = /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;
const ATTACK = `before${[
  ...Array(0xa1).keys(),
  0x061c,
  0x200e,
  0x200f,
  0x2028,
  0x2029,
  0x202e,
  0x2066,
]
  .map((code) => String.fromCharCode(code))
  .filter((character) => /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u.test(character))
  .join('')}after`;

const CREATED_AT = '2026-11-23T10:00:00.000Z';
const webhook = {
  id: ATTACK,
  kind: 'channels',
  app: ATTACK,
  instance: null,
  state: 'failed',
  reason: ATTACK,
  url: `http://x.test/${ATTACK}`,
  attempts: 1,
  bodyBytes: 1,
  createdAt: CREATED_AT,
  nextAttemptAt: null,
  finishedAt: CREATED_AT,
  body: ATTACK,
  attemptLog: [
    { number: 1, at: CREATED_AT, durationMs: 1, outcome: 'refused', status: 500, answer: ATTACK },
  ],
};
const none = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};
const cause = { why: ATTACK, advice: ATTACK };
const status = {
  id: ATTACK,
  instance: ATTACK,
  state: ATTACK,
  createdAtMs: 1,
  sendAtMs: 1,
  platforms: { apns: none, fcm: none, web: none },
  live: null,
  rule: { app: ATTACK, channel: ATTACK, event: ATTACK },
  delivered: 0,
  opened: 0,
  reasons: [{ platform: 'web', devices: 1, ...cause }],
  pauses: [{ platform: 'web', origin: ATTACK, sinceMs: 1, devices: 1, ...cause }],
};
const timeline = {
  publish: ATTACK,
  device: ATTACK,
  platform: ATTACK,
  events: [{ at: ATTACK, what: ATTACK, detail: ATTACK, advice: ATTACK }],
};

/** A malicious server, in place of everything that the command line talks to. */
let server: Bun.Server<undefined>;
beforeAll(() => {
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith('/webhooks')) return Response.json({ webhooks: [webhook, webhook] });
      if (pathname.endsWith('/webhooks/refused'))
        return Response.json({ error: ATTACK }, { status: 400 });
      if (pathname.includes('/webhooks/')) return Response.json(webhook);
      if (pathname.includes('/devices/refused'))
        return Response.json({ error: ATTACK }, { status: 404 });
      if (pathname.includes('/devices/')) return Response.json(timeline);
      if (pathname.endsWith('pubid-refused'))
        return Response.json({ error: ATTACK }, { status: 500 });
      if (pathname.includes('/publishes/')) return Response.json(status);
      return new Response(ATTACK.repeat(3), { headers: { server: 'x' } });
    },
  });
});
afterAll(() => server.stop(true));

const run = async (...args: readonly string[]): Promise<Ended> => {
  using directory = temporaryDirectory();
  return await fanfare(directory.path, args, FREE_PORTS);
};

function expectSafe({ stdout, stderr }: Ended): void {
  expect(stdout).not.toMatch(UNSAFE);
  expect(stderr).not.toMatch(UNSAFE);
}

const admin = () => ['--url', `http://127.0.0.1:${server.port}`];

describe('text of strangers', () => {
  it('controls no terminal and makes no line in the list of webhooks', async () => {
    const ended = await run('webhooks', 'list', ...admin());
    expectSafe(ended);
    const lines = ended.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('\\u009b');
  });

  it('controls no terminal and adds no line to a webhook, its body and its answers', async () => {
    const ended = await run('webhooks', 'show', 'id', ...admin());
    expectSafe(ended);
    expect(ended.stdout.trimEnd().split('\n')).toHaveLength(5);
  });

  it('controls no terminal and adds no line to an error of the admin API', async () => {
    const ended = await run('webhooks', 'show', 'refused', ...admin());
    expectSafe(ended);
    expect(ended.exitCode).toBe(1);
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it.each(
    [
      ['push', 'status', 'pubid-1'],
      ['push', 'status', 'pubid-refused'],
      ['push', 'explain', 'pubid-1', 'web-1'],
      ['push', 'explain', 'pubid-1', 'refused'],
    ].map((words) => [words.join(' ')]),
  )('controls no terminal: %s', async (words) => {
    const ended = await run(...words.split(' '), ...admin());
    expectSafe(ended);
    expect(ended.stdout + ended.stderr).toContain('\\u009b');
  });

  it('cannot control a terminal through what the doctor quotes', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const ended = await run('doctor', '--url', url, '--key', 'k', '--timeout', '2');
    expectSafe(ended);
    expect(ended.exitCode).toBe(1);
  });

  it('is unchanged in parsed JSON, and yet safe to print', async () => {
    const list = await run('webhooks', 'list', '--json', ...admin());
    expectSafe(list);
    expect(JSON.parse(list.stdout)).toEqual([webhook, webhook]);
    const shown = await run('push', 'status', 'pubid-1', '--json', ...admin());
    expectSafe(shown);
    expect(JSON.parse(shown.stdout)).toEqual(status);
  });
});

it('the name of a tenant adds no line to lists', async () => {
  using directory = temporaryDirectory();
  const here = (...args: readonly string[]) => fanfare(directory.path, args, FREE_PORTS);
  // An argument of a process cannot contain NUL.
  const name = ATTACK.replace('\0', '');
  for (const kind of ['apps', 'instances']) {
    const made = await here(kind, 'create', '--name', name);
    expectSafe(made);
    const list = await here(kind, 'list');
    expectSafe(list);
    expect(list.stdout.trimEnd().split('\n')).toHaveLength(1);
    const json = await here(kind, 'list', '--json');
    expect(JSON.parse(json.stdout)[0].name).toBe(name);
    const [id = ''] = list.stdout.split(' ');
    expectSafe(await here(kind, 'show', id));
  }
});
