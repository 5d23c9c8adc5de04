import { afterEach, beforeEach, describe, expect, it, jest, spyOn } from 'bun:test';
import type { Config } from '../options.ts';
import { runtimeWith } from '../platform.ts';
import { httpTransports } from '../transports/transport.ts';
import TransportConnection from '../transports/transport-connection.ts';
import type { Handshake } from './handshake.ts';
import { defaultStrategy, defineTransport } from './strategy.ts';

const pass = (ms: number) => jest.advanceTimersByTime(ms);

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** Tries to connect by transports that the test plays. */
function trying({
  useTLS = true,
  without = [],
  ...lists
}: {
  readonly useTLS?: boolean;
  readonly without?: readonly string[];
  readonly enabledTransports?: readonly string[];
  readonly disabledTransports?: readonly string[];
} = {}) {
  const runtime = runtimeWith({ transports: httpTransports() });
  const made: { name: string; url: string; atMs: number; transport: TransportConnection }[] = [];
  const handshakes: (Handshake | undefined)[] = [];
  for (const [type, transport] of Object.entries(runtime.Transports)) {
    const { isSupported, createConnection } = transport;
    if (type === 'ws' || without.includes(type)) {
      transport.isSupported = () => !without.includes(type);
    } else transport.isSupported = isSupported;
    transport.createConnection = (name, priority, key, options) => {
      const { url } = createConnection(name, priority, key, options) as unknown as { url: string };
      const played = new TransportConnection(name, priority, options, {
        url,
        open: () => ({
          onopen: null,
          onerror: null,
          onclose: null,
          onmessage: null,
          send: () => undefined,
          close: () => {
            closed.push(name);
          },
        }),
      });
      made.push({ name, url, atMs: Date.now(), transport: played });
      return played;
    };
  }
  const closed: string[] = [];
  const config = {
    wsHost: 'w',
    wsPort: 1,
    wssPort: 2,
    wsPath: '',
    httpHost: 'h',
    httpPort: 3,
    httpsPort: 4,
    httpPath: '/pusher',
    ...lists,
  } as unknown as Config;
  const strategy = defaultStrategy(config, { key: 'k', useTLS }, defineTransport(runtime));
  const begin = () => strategy.connect(0, (_, handshake) => handshakes.push(handshake));
  return { strategy, begin, made, closed, handshakes };
}

describe('transports begin', () => {
  it.each([
    ['with TLS', {}, ['ws 0', 'xhr_streaming 2000', 'xhr_polling 6000']],
    [
      'without TLS',
      { useTLS: false },
      ['ws 0', 'wss 2000', 'xhr_streaming 5000', 'xhr_polling 9000'],
    ],
    ['where WebSockets are unknown', { without: ['ws'] }, ['xhr_streaming 0', 'xhr_polling 4000']],
    ['if only one is enabled', { enabledTransports: ['xhr_polling'] }, ['xhr_polling 0']],
    ['if one is disabled', { disabledTransports: ['xhr_streaming'] }, ['ws 0', 'xhr_polling 2000']],
  ])('%s', (_, options, expected) => {
    const { begin, made } = trying(options);
    const runner = begin();
    pass(10_000);
    expect(made.map(({ name, atMs }) => `${name} ${atMs}`)).toEqual(expected);
    runner.abort();
  });

  it('at their addresses', () => {
    const { begin, made } = trying({ useTLS: false });
    const runner = begin();
    pass(5000);
    const tail = /&version=8\.6\.0(&flash=false)?&fanfare=.*$/;
    expect(made.map(({ url }) => url.replace(tail, '$1'))).toEqual([
      'ws://w:1/app/k?protocol=7&client=js&flash=false',
      'wss://w:2/app/k?protocol=7&client=js&flash=false',
      'http://h:3/pusher/app/k?protocol=7&client=js',
    ]);
    runner.abort();
  });

  it('not at all if none is enabled', () => {
    expect(trying({ enabledTransports: [] }).strategy.isSupported()).toBe(false);
  });
});

describe('an attempt', () => {
  const onlyWs = { enabledTransports: ['ws'] };

  it('that is refused is repeated with a growing pause', () => {
    const { begin, made } = trying(onlyWs);
    const runner = begin();
    for (let n = 0; n < 4; n++) {
      made.at(-1)?.transport.emit('closed', { code: 1006 });
      pass(1000 * 2 ** n);
    }
    expect(made.map(({ atMs }) => atMs)).toEqual([0, 1000, 3000, 7000, 15_000]);
    runner.abort();
  });

  it('that stays silent ends after 15 s, later 30, then 60', () => {
    const { begin, made, closed } = trying(onlyWs);
    const runner = begin();
    pass(165_000);
    expect(made.map(({ atMs }) => atMs)).toEqual([0, 15_000, 45_000, 105_000, 165_000]);
    expect(closed).toHaveLength(4);
    runner.abort();
  });

  it('that ends with a handshake ends the others', () => {
    const { begin, made, closed, handshakes } = trying();
    begin();
    pass(2000);
    const [ws, streaming] = made;
    ws?.transport.emit('open');
    streaming?.transport.emit('open');
    const data =
      '{"event":"pusher:connection_established","data":{"socket_id":"1.1","activity_timeout":7}}';
    streaming?.transport.emit('message', { data });
    expect(handshakes).toMatchObject([{ action: 'connected', id: '1.1', activityTimeout: 7000 }]);
    expect(closed).toEqual(['ws']);
    pass(100_000);
    expect(made).toHaveLength(2);
  });
});
