import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { outputTo } from '../../src/cli/output.ts';
import { run } from '../../src/cli/run.ts';
import { APP, commandOf, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { FrameProxy, type Tamper } from '../../testing/servers/frame-proxy.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { restart } from '../../testing/servers/restart.ts';
import { fanfare, temporaryDirectory } from './run-fanfare.ts';

const KEPT = 'kept-';
const HISTORY = { history: [{ channels: `${KEPT}*`, seconds: 300, events: 1000 }] };
const OF_APP = { clientEvents: true, subscriptionCounts: true, ...HISTORY };
const WEBHOOKS = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'];

/** An app that may send next to nothing. */
const POOR = {
  id: '4',
  name: 'poor',
  keys: [{ key: 'poor-key', secret: 'poor-secret' }],
  limits: { messagesPerDay: 3 },
};

/** Every this many frames, a proxy breaks one. */
const EVERY = 10;

interface Verified {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in this process, beside others. */
async function verify(port: number, ...more: readonly string[]): Promise<Verified> {
  let stdout = '';
  let stderr = '';
  const output = outputTo(
    (text) => (stdout += text),
    (text) => (stderr += text),
  );
  const options = {
    '--url': `http://127.0.0.1:${port}`,
    '--key': APP.key,
    '--secret': APP.secret,
    '--app-id': APP.id,
    '--seconds': '10',
    '--clients': '9',
    '--rate': '20',
    '--cuts': '120',
  };
  const args = Object.entries(options).flat();
  const code = await run(['verify', ...args, '--kept', KEPT, ...more], output);
  return { code, stdout, stderr };
}

const isEvent = (frame: string) => frame.startsWith('{"event":"verify"');

/** Says of one event of `EVERY`, over all connections, that it is to be broken. */
function counter(): (frame: string) => boolean {
  let events = 0;
  return (frame) => isEvent(frame) && ++events % EVERY === 0;
}

function sometimes(wrong: (frame: string) => readonly string[]): () => Tamper {
  const isDue = counter();
  return () => (frame) => (isDue(frame) ? wrong(frame) : [frame]);
}

/** Sends one event of `EVERY` after the next one of its channel. */
function swapping(): () => Tamper {
  const isDue = counter();
  const channelOf = (frame: string) => JSON.parse(frame).channel;
  return () => {
    let held: string | undefined;
    return (frame) => {
      if (!isEvent(frame)) return [frame];
      if (held !== undefined) {
        if (channelOf(frame) !== channelOf(held)) return [frame];
        const late = held;
        held = undefined;
        return [frame, late];
      }
      if (!isDue(frame)) return [frame];
      held = frame;
      return [];
    };
  };
}

/** Leaves out the first event that a client has missed. */
function silentGap(): Tamper {
  let channel: string | undefined;
  return (frame) => {
    const { event, channel: of, data } = JSON.parse(frame);
    if (event === 'pusher_internal:subscription_succeeded') {
      if (JSON.parse(data).resume?.missed > 0) channel = of;
      return [frame];
    }
    if (channel === undefined || of !== channel || !isEvent(frame)) return [frame];
    channel = undefined;
    return [];
  };
}

/** Sends one event of `EVERY` in another channel that the client hears, if it is in the first one. */
const astray = sometimes((frame) => [
  frame.replace(/"channel":"(verify-\w{8})-a"/, '"channel":"$1-b"'),
]);

/** Tells nobody that members leave. */
const ghosts = (): Tamper => (frame) => (frame.includes('member_removed') ? [] : [frame]);

/** Counts one subscriber too many, and adds every member twice. */
const miscounting = (): Tamper => (frame) => {
  if (frame.includes('member_added')) return [frame, frame];
  const { event, data, ...rest } = JSON.parse(frame);
  if (event !== 'pusher_internal:subscription_count') return [frame];
  const { subscription_count: count } = JSON.parse(data);
  return [
    JSON.stringify({ event, data: JSON.stringify({ subscription_count: count + 1 }), ...rest }),
  ];
};

const sabotages = {
  'loses events': [sometimes(() => []), ['arrives']],
  'doubles events': [sometimes((frame) => [frame, frame]), ['once']],
  'changes the order of events': [swapping(), ['order', 'after']],
  'sends events in another channel': [astray, ['known']],
  'leaves out missed events': [silentGap, ['resumes']],
  'keeps members who have left': [ghosts, ['present']],
  'counts wrong, and adds members twice': [miscounting, ['counts', 'members']],
} as const;

/** Passes webhooks on to a port, but for those that it loses. It accepts all. */
function relayTo(isLost: (body: string) => boolean) {
  let port: number | undefined;
  /** Chooses a port just before somebody listens there: another program could use one that was chosen long before. */
  const choose = async () => {
    port = await freePort();
    return port;
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { headers } = request;
      const body = await request.text();
      const to = `http://127.0.0.1:${port}/`;
      // Nobody listens before the run begins, and after its end.
      if (port !== undefined && !isLost(body)) {
        await fetch(to, { method: 'POST', headers, body }).catch(() => undefined);
      }
      return new Response();
    },
  });
  return { server, choose };
}

describe('fanfare verify', () => {
  const directory = temporaryDirectory();
  const history = join(directory.path, 'run.jsonl');
  const page = join(directory.path, 'report.md');
  const results = new Map<string, Verified>();
  const servers: AsyncDisposable[] = [];
  let server: Fanfare;

  // All runs at the same time: a run lasts at least 10 s.
  beforeAll(async () => {
    const toRight = relayTo(() => false);
    const toLosing = relayTo((body) => body.includes('member_removed'));
    const relays = [toRight.server, toLosing.server];
    for (const relay of relays) {
      servers.push({ [Symbol.asyncDispose]: () => relay.stop(true) });
    }
    const webhooks = relays.map(({ url }) => ({ url: url.href, events: WEBHOOKS }));
    server = await startFanfare({
      app: { ...OF_APP, webhooks },
      moreApps: [POOR],
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    const killed = await startFanfare({ app: OF_APP, onlyOne: 'restart' });
    servers.push(server);
    const killOnce = async () => {
      await Bun.sleep(1500);
      servers.push(await restart(killed, 'SIGKILL'));
    };
    const sabotaged = async (name: keyof typeof sabotages) => {
      await using proxy = await FrameProxy.start(server.port, sabotages[name][0]);
      results.set(name, await verify(proxy.port));
    };
    const listening = async (name: string, to: typeof toRight, ...more: readonly string[]) => {
      const args = ['--webhooks', String(await to.choose()), '--seconds', '20', ...more];
      results.set(name, await verify(server.port, ...args));
    };
    const right = () => listening('right', toRight, '--history', history, '--report', page);
    const losing = () => listening('loses webhooks', toLosing, '--rate', '5');
    const broken = async () => {
      results.set('killed', await verify(killed.port));
    };
    const names = Object.keys(sabotages) as (keyof typeof sabotages)[];
    await Promise.all([right(), losing(), broken(), killOnce(), ...names.map(sabotaged)]);
  }, 60_000);

  afterAll(async () => {
    for (const one of servers) await one[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const of = (name: string): Verified => {
    const result = results.get(name);
    if (result === undefined) throw new Error(`There is no result of ${name}`);
    return result;
  };

  it('ends with 0 at a server that is right, and names what it tried', () => {
    const { code, stdout, stderr } = of('right');
    expect(stdout).toMatch(/^verify-\w{8} at http:\S+: \d+ s, 9 clients, \d+ triggers/);
    for (const rule of ['order', 'after', 'once', 'known', 'arrives', 'resumes', 'members']) {
      expect(stdout).toMatch(new RegExp(`^held +${rule} `, 'm'));
    }
    expect(stdout).toMatch(/^held +present /m);
    expect(stdout).toMatch(/^held +counts /m);
    expect(stdout).toMatch(/^held +webhooks /m);
    expect(stdout).toMatch(/^not tried pushes /m);
    expect(stderr).toContain('messages with their deliveries');
    expect(code).toBe(0);
  });

  it('keeps a recording without secrets, which has the same verdict', async () => {
    const text = readFileSync(history, 'utf8');
    for (const secret of [APP.secret, APP.key, 'auth', 'signature']) {
      expect(text).not.toContain(secret);
    }
    expect(statSync(history).mode & 0o777).toBe(0o600);
    const again = await fanfare(directory.path, ['verify', '--check', 'run.jsonl', '--json']);
    expect(again.exitCode).toBe(0);
    const { rules, broken, run: name } = JSON.parse(again.stdout);
    expect({ broken, name, order: rules.order.state }).toEqual({
      broken: [],
      name: null,
      order: 'held',
    });
    expect(of('right').stdout).toContain(rules.arrives.checked.toLocaleString('en'));
    expect(readFileSync(page, 'utf8')).toContain('| `order` | held |');
  });

  it('ends with 0 when the server is killed and started, and says how long it took', () => {
    const { code, stdout } = of('killed');
    expect(stdout).toMatch(/^recovered \d+\.\d s after \d+\.\d s: all clients were connected/m);
    expect([code, stdout]).toEqual([0, stdout]);
  });

  it.each([
    ...Object.entries(sabotages).map(([name, [, rules]]) => [name, rules] as const),
    ['loses webhooks', ['webhooks']] as const,
  ])('finds a server that %s', (name, rules) => {
    const { code, stdout } = of(name);
    for (const rule of rules) expect(stdout).toMatch(new RegExp(`^broken +${rule} `, 'm'));
    expect(code).toBe(1);
  });

  it('ends with 1 for a recording in which an event is lost, also from standard input', async () => {
    const at = (op: string, fields: object) => JSON.stringify({ op, t: 100, ...fields });
    const enter = (c: number) => [
      at('open', { c, n: 1, socket: `1.${c}` }),
      at('subscribe', { c, n: 1, ch: 'news' }),
      at('subscribed', { c, n: 1, ch: 'news' }),
    ];
    const recording = [
      '{"history":1}',
      ...enter(1),
      ...enter(2),
      at('trigger', { e: '7', ch: ['news'] }),
      at('answer', { e: '7', status: 200 }),
      at('event', { c: 1, n: 1, ch: 'news', e: '7' }),
      '{"op":"calm","t":6000}',
    ].join('\n');
    const child = Bun.spawn([...commandOf(), 'verify', '--check', '-'], {
      stdin: Buffer.from(recording),
      stdout: 'pipe',
    });
    expect(await new Response(child.stdout).text()).toMatch(
      /^broken +arrives +client 2 received event 7 in news never: it was sent at 0.100 s/m,
    );
    expect(await child.exited).toBe(1);
  });

  it.each([
    [['--check', 'none.jsonl'], 'none.jsonl does not exist'],
    [['--check', 'wrong.jsonl'], 'wrong.jsonl: line 2: op is "fly"'],
    [['--check', 'wrong.jsonl', '--rate', '3'], '--rate has no meaning with --check'],
    [[], '--url is missing'],
    [['--url', 'http://127.0.0.1:1', '--key', 'k', '--seconds', '9'], '--seconds must be'],
    [['--url', 'http://127.0.0.1:1', '--key', 'k', '--rate', '101'], '--rate must be'],
    [['--url', 'http://127.0.0.1:1', '--key', 'k', '--presence', 'x'], '--presence must be'],
    [['--url', 'http://127.0.0.1:1', '--key', 'k', '--ca', 'long.pem'], 'larger than 4 MiB'],
  ])('ends with 2 for arguments that cannot be right: %j', async (args, message) => {
    using files = temporaryDirectory({
      'wrong.jsonl': '{"history":1}\n{"op":"fly","t":1}\n',
      'long.pem': ' '.repeat(4 * 1024 * 1024 + 1),
    });
    const { exitCode, stderr } = await fanfare(files.path, ['verify', ...args]);
    expect(stderr).toContain(message);
    expect(exitCode).toBe(2);
  });

  it('ends with 3, and the finding of the doctor, if it cannot run', async () => {
    const closed = await verify(await freePort());
    expect(closed.stderr).toContain('nothing listens');
    const wrong = await verify(server.port, '--secret', 'another');
    expect(wrong.stderr).toContain('signed-request');
    const unknown = await verify(server.port, '--key', 'another');
    expect(unknown.stderr).toContain('first-message');
    const [url, key] = [`http://127.0.0.1:${server.port}`, APP.key];
    const without = await fanfare(directory.path, ['verify', '--url', url, '--key', key]);
    expect(without.stderr).toContain('without --secret');
    expect([closed.code, wrong.code, unknown.code, without.exitCode]).toEqual([3, 3, 3, 3]);
  });

  it('ends with 3, and the verdict so far, when the app has used its messages', async () => {
    const poor = ['--key', 'poor-key', '--secret', 'poor-secret', '--app-id', POOR.id];
    const { code, stdout, stderr } = await verify(server.port, ...poor);
    expect(stderr).toContain(
      'the run ended early, because a trigger is forbidden (403): The app is',
    );
    expect(stdout).toMatch(/^12 promises: /m);
    expect(code).toBe(3);
  });

  it('ends with the verdict so far on SIGINT', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const args = [
      'verify',
      '--url',
      url,
      '--key',
      APP.key,
      '--app-id',
      APP.id,
      '--json',
      '--seconds',
      '3600',
    ];
    const child = Bun.spawn([...commandOf(), ...args, '--secret', APP.secret], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    // It says so when it begins.
    await child.stderr.getReader().read();
    child.kill('SIGINT');
    const { run: name, seconds, broken } = JSON.parse(await new Response(child.stdout).text());
    expect(name).toMatch(/^verify-\w{8}$/);
    expect(seconds).toBeLessThan(600);
    expect([broken, await child.exited]).toEqual([[], 0]);
  });
});
