import { describe, expect, it } from 'bun:test';
import { type Topic, topicOf } from '../../src/channels/event.ts';
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
      /** Sends it the way that is tried. */
      const sends = ({ audience }: OpenAudience, to: Topic, frame: string, except?: Listener) =>
        send === 'send'
          ? audience.send(to, frame, except?.peer)
          : audience.sendSoon(to, () => frame, except?.socketId);
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
        sends(opened, topic, 'hello');
        expect(await ann.heard()).toEqual(['hello']);
        expect(await bob.heard()).toEqual(['hello']);
        expect(await eve.heard()).toEqual([]);
      });

      it('does not reach who joins after the call, nor who left before it', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        opened.audience.join(ann.peer, topic);
        sends(opened, topic, 'first');
        opened.audience.join(bob.peer, topic);
        opened.audience.leave(ann.peer, topic);
        sends(opened, topic, 'second');
        expect(await ann.heard()).toEqual(['first']);
        expect(await bob.heard()).toEqual(['second']);
      });

      it('keeps the order of what it sends with what is sent to one peer', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        opened.audience.join(ann.peer, topic);
        sends(opened, topic, '1');
        ann.peer.send('2');
        sends(opened, topic, '3');
        sends(opened, topic, '4');
        ann.peer.send('5');
        expect(await ann.heard()).toEqual(['1', '2', '3', '4', '5']);
      });

      it('leaves out the connection that is excepted, whether it is subscribed or not', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        await using eve = await opened.connect();
        opened.audience.join(ann.peer, topic);
        opened.audience.join(bob.peer, topic);
        sends(opened, topic, 'not for ann', ann);
        sends(opened, topic, 'for both', eve);
        expect(await ann.heard()).toEqual(['for both']);
        expect(await bob.heard()).toEqual(['not for ann', 'for both']);
        expect(await eve.heard()).toEqual([]);
      });

      it('tells to how many it sent', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        await using bob = await opened.connect();
        await using eve = await opened.connect();
        expect(sends(opened, topic, 'nobody')).toBe(0);
        opened.audience.join(ann.peer, topic);
        opened.audience.join(bob.peer, topic);
        expect(sends(opened, topic, 'both')).toBe(2);
        expect(sends(opened, topic, 'bob', ann)).toBe(1);
        expect(sends(opened, topic, 'both again', eve)).toBe(2);
        opened.audience.leave(bob.peer, topic);
        expect(sends(opened, topic, 'nobody', ann)).toBe(0);
      });

      it('keeps the order of what may wait with what may not', async () => {
        await using opened = await open();
        await using ann = await opened.connect();
        opened.audience.join(ann.peer, topic);
        const now = (frame: string) => opened.audience.send(topic, frame);
        const soon = (frame: string) => opened.audience.sendSoon(topic, () => frame);
        const any = (frame: string) => sends(opened, topic, frame);
        for (const [number, way] of [now, soon, any, soon, now].entries()) way(String(number));
        expect(await ann.heard()).toEqual(['0', '1', '2', '3', '4']);
      });
    },
  );

  describe(`${name} keeps the audience contract: sendSoon`, () => {
    const topic = topicOf(appWith({}), channel('news'));

    it('reaches everyone when the excepted connection is not connected here', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      opened.audience.join(ann.peer, topic);
      opened.audience.sendSoon(topic, () => 'hello', '1.1' as SocketId);
      expect(await ann.heard()).toEqual(['hello']);
    });

    it('makes the frame only where anybody listens', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      let made = 0;
      const makeFrame = () => `made ${++made}`;
      opened.audience.sendSoon(topic, makeFrame);
      opened.audience.join(ann.peer, topic);
      opened.audience.sendSoon(topic, makeFrame);
      expect(await ann.heard()).toEqual(['made 1']);
      opened.audience.leave(ann.peer, topic);
      opened.audience.sendSoon(topic, makeFrame);
      expect(made).toBe(1);
    });
  });
}
