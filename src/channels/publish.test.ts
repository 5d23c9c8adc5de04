import { describe, expect, it } from 'bun:test';
import { EngineFailure } from './engine-failure.ts';
import { CACHE_TTL_MS, type ChannelEvent } from './event.ts';
import { appWith, channelName, hubWith, LateEngine, socketId } from './hub.fixture.ts';
import { publish } from './publish.ts';
import type { Tap, TapEvent } from './watching/tap.ts';

function event(channel: string, changed: Partial<ChannelEvent> = {}): ChannelEvent {
  return {
    app: appWith(),
    channel: channelName(channel),
    name: 'news',
    data: '{"n": 1.0}',
    except: undefined,
    ...changed,
  };
}

describe('an event', () => {
  it('is one frame for all, sent before publish returns', () => {
    const hub = hubWith();

    const done = publish(hub, event('x', { except: socketId('1.2') }));

    expect(done).toBeUndefined();
    expect<unknown>(hub.audience.sent).toEqual([
      {
        topic: 'app/x',
        frame: '{"event":"news","channel":"x","data":"{\\"n\\": 1.0}"}',
        except: '1.2',
      },
    ]);
    expect(hub.audience.sentSoon).toHaveLength(1);
    expect(hub.memory.cached(appWith(), channelName('x'))).toBeUndefined();
  });

  it('is sent when it has its place among the events of the channel', async () => {
    const engine = new LateEngine();
    const hub = hubWith(engine);
    let isDone = false;

    void Promise.resolve(publish(hub, event('x'))).then(() => {
      isDone = true;
    });

    expect([hub.audience.sent, isDone]).toEqual([[], false]);
    await engine.answers('publish x');
    expect([hub.audience.sent.length, isDone]).toEqual([1, true]);
  });

  it('is shown to those who watch the app, with its receivers, or with the reason why it was not sent', async () => {
    const records: TapEvent[] = [];
    const sent: unknown[] = [];
    const tap: Tap = {
      record: (one) => (records.push(one) > 0 ? 'trace' : undefined),
      sent: (...one) => void sent.push(one),
    };
    const app = appWith({ tap });
    void publish(hubWith(), event('x', { app, key: 'key', except: socketId('1.2') }));
    expect(records).toEqual([
      { kind: 'api', channel: 'x', event: 'news', data: '{"n": 1.0}', except: '1.2', key: 'key' },
    ]);
    expect(sent).toEqual([['trace', 0]]);

    const away = () => Promise.reject(new Error('away'));
    const engine = Object.assign(new LateEngine(), { publish: away });
    await expect(publish(hubWith(engine), event('x', { app }))).rejects.toThrow(EngineFailure);
    expect(records.map(({ kind }) => kind)).toEqual(['api', 'api', 'error']);
  });

  it('of a cache channel is remembered for 30 minutes, to the byte', () => {
    const hub = hubWith();
    const channel = channelName('presence-cache-x');

    void publish(hub, event('presence-cache-x'));

    expect(hub.memory.cached(appWith(), channel)).toEqual({
      name: 'news',
      data: '{"n": 1.0}',
      leftMs: 30 * 60 * 1000,
    });
    expect(CACHE_TTL_MS).toBe(1_800_000);
    expect(hub.audience.sent).toHaveLength(1);
  });
});
