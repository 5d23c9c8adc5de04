import { describe, expect, it } from 'bun:test';
import { topicOf } from '../../src/channels/event.ts';
import type { Audience, Peer } from '../../src/channels/ports.ts';
import type { SocketId } from '../../src/channels/socket-id.ts';
import { appWith, channel } from './values.ts';

/** One connection of a transport, and what its far end has heard. */
export interface Listener extends AsyncDisposable {
  readonly peer: Peer;
  readonly socketId: SocketId;
  /** Everything that was sent to it before this call. */
  heard(): Promise<readonly string[]>;
}

export interface OpenAudience extends AsyncDisposable {
  readonly audience: Audience;
  connect(): Promise<Listener>;
}

/** What the core expects of any audience. */
export function audienceContract(name: string, open: () => Promise<OpenAudience>): void {
  describe.each(['send', 'sendSoon'] as const)(
    `${name} keeps the audience contract: %s`,
    (send) => {
      const topic = topicOf(appWith({}), channel('news'));
      const other = topicOf(appWith({}), channel('sport'));

      it('reaches everyone who joined, and nobody else', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        await using eve = await opened.connect();
        opened.audience.join(ann.peer, topic);
        opened.audience.join(bob.peer, topic);
        opened.audience.join(eve.peer, other);
        opened.audience[send](topic, 'hello');
        expect(await ann.heard()).toEqual(['hello']);
        expect(await bob.heard()).toEqual(['hello']);
        expect(await eve.heard()).toEqual([]);
      });

      it('does not reach who joins after the call, nor who left before it', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        opened.audience.join(ann.peer, topic);
        opened.audience[send](topic, 'first');
        opened.audience.join(bob.peer, topic);
        opened.audience.leave(ann.peer, topic);
        opened.audience[send](topic, 'second');
        expect(await ann.heard()).toEqual(['first']);
        expect(await bob.heard()).toEqual(['second']);
      });

      it('keeps the order of what it sends with what is sent to one peer', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        opened.audience.join(ann.peer, topic);
        opened.audience[send](topic, '1');
        ann.peer.send('2');
        opened.audience[send](topic, '3');
        opened.audience[send](topic, '4');
        ann.peer.send('5');
        expect(await ann.heard()).toEqual(['1', '2', '3', '4', '5']);
      });

      /** How each way is told whom to leave out. */
      const whoIs = (listener: Listener) =>
        ({ send: listener.peer, sendSoon: listener.socketId })[send] as Peer & SocketId;

      it('leaves out the connection that is excepted, whether it is subscribed or not', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        await using eve = await opened.connect();
        opened.audience.join(ann.peer, topic);
        opened.audience.join(bob.peer, topic);
        opened.audience[send](topic, 'not for ann', whoIs(ann));
        opened.audience[send](topic, 'for both', whoIs(eve));
        expect(await ann.heard()).toEqual(['for both']);
        expect(await bob.heard()).toEqual(['not for ann', 'for both']);
        expect(await eve.heard()).toEqual([]);
      });

      it('knows whether anybody listens', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        expect(opened.audience.reaches(topic)).toBe(false);
        opened.audience.join(ann.peer, topic);
        expect(opened.audience.reaches(topic)).toBe(true);
        expect(opened.audience.reaches(other)).toBe(false);
        opened.audience.leave(ann.peer, topic);
        expect(opened.audience.reaches(topic)).toBe(false);
      });

      it('tells to how many it sent', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        await using eve = await opened.connect();
        expect(opened.audience[send](topic, 'nobody')).toBe(0);
        opened.audience.join(ann.peer, topic);
        opened.audience.join(bob.peer, topic);
        expect(opened.audience[send](topic, 'both')).toBe(2);
        expect(opened.audience[send](topic, 'bob', whoIs(ann))).toBe(1);
        expect(opened.audience[send](topic, 'both again', whoIs(eve))).toBe(2);
        opened.audience.leave(bob.peer, topic);
        expect(opened.audience[send](topic, 'nobody', whoIs(ann))).toBe(0);
      });

      it('keeps the order of what may wait with what may not', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        opened.audience.join(ann.peer, topic);
        for (const [number, way] of ['send', 'sendSoon', send, 'sendSoon', 'send'].entries()) {
          opened.audience[way as typeof send](topic, String(number));
        }
        expect(await ann.heard()).toEqual(['0', '1', '2', '3', '4']);
      });

      it('reaches everyone when the excepted connection is not connected here', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        opened.audience.join(ann.peer, topic);
        opened.audience.sendSoon(topic, 'hello', '1.1' as SocketId);
        expect(await ann.heard()).toEqual(['hello']);
      });
    },
  );
}
