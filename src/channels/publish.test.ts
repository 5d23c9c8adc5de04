import { describe, expect, it } from 'bun:test';
import type { ChannelEvent } from './event.ts';
import { appWith, channelName, hubWith, LateEngine, socketId } from './hub.fixture.ts';
import type { CachedEvent } from './ports.ts';
import { CACHE_TTL_MS, publish } from './publish.ts';

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
    const engine = new LateEngine();
    const hub = hubWith(engine);

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
    expect(engine.calls).toEqual([]);
  });

  it('of a cache channel is remembered before it is sent', async () => {
    const engine = new LateEngine();
    const hub = hubWith(engine);

    const done = publish(hub, event('cache-x', { except: socketId('1.2') }));

    expect(hub.audience.sent).toEqual([]);
    await engine.answers('put app/cache-x news', undefined);
    await done;
    expect(hub.audience.sent).toHaveLength(1);
  });

  it('of a cache channel is remembered for 30 minutes, to the byte', () => {
    const put: [string, CachedEvent][] = [];
    const engine = Object.assign(new LateEngine(), {
      put: (topic: string, cached: CachedEvent) => {
        put.push([topic, cached]);
      },
    });
    const hub = hubWith(engine);

    void publish(hub, event('presence-cache-x'));

    expect(put).toEqual([
      [
        'app/presence-cache-x',
        { name: 'news', data: '{"n": 1.0}', expiresAt: hub.clock.now() + 30 * 60 * 1000 },
      ],
    ]);
    expect(CACHE_TTL_MS).toBe(1_800_000);
    expect(hub.audience.sent).toHaveLength(1);
  });
});
