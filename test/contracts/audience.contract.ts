import { describe, expect, it } from 'bun:test';
import { topicOf } from '../../src/channels/event.ts';
import type { Audience, Peer } from '../../src/channels/ports.ts';
import type { SocketId } from '../../src/channels/socket-id.ts';
import { appWith, channel } from './values.ts';

/** One connection, and what its client has received. */
export interface Listener extends AsyncDisposable {
  readonly peer: Peer;
  /** Returns every frame that was sent since the last call. */
  received(): Promise<readonly string[]>;
}

export interface OpenAudience extends AsyncDisposable {
  readonly audience: Audience;
  connect(): Promise<Listener>;
}

const news = topicOf(appWith({}), channel('news'));
const sport = topicOf(appWith({}), channel('sport'));

/** How frames are sent. */
const variants = [
  { mayWait: false, title: 'at once' },
  { mayWait: true, title: 'may wait' },
];

/** What the core expects of any audience. */
export function audienceContract(name: string, open: () => Promise<OpenAudience>): void {
  describe.each(variants)(`${name} keeps the audience contract: $title`, ({ mayWait }) => {
    const send = ({ audience }: OpenAudience, topic: typeof news, frame: string, no?: Listener) =>
      audience.send(topic, () => frame, { mayWait, except: no?.peer.socketId });

    it('reaches every peer of the topic, and no other', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      await using bob = await opened.connect();
      await using eve = await opened.connect();
      opened.audience.join(ann.peer, news);
      opened.audience.join(bob.peer, news);
      opened.audience.join(eve.peer, sport);
      send(opened, news, 'hello');
      expect(await ann.received()).toEqual(['hello']);
      expect(await bob.received()).toEqual(['hello']);
      expect(await eve.received()).toEqual([]);
    });

    it('does not reach a peer that joins later or has left', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      await using bob = await opened.connect();
      opened.audience.join(ann.peer, news);
      send(opened, news, 'first');
      opened.audience.join(bob.peer, news);
      opened.audience.leave(ann.peer, news);
      send(opened, news, 'second');
      expect(await ann.received()).toEqual(['first']);
      expect(await bob.received()).toEqual(['second']);
    });

    it('does not reach a peer that has left all topics', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      await using bob = await opened.connect();
      for (const { peer } of [ann, bob]) {
        opened.audience.join(peer, news);
        opened.audience.join(peer, sport);
      }
      send(opened, news, 'before');
      opened.audience.leaveAll(ann.peer);
      expect(send(opened, news, 'news')).toBe(1);
      expect(send(opened, sport, 'sport')).toBe(1);
      expect(await ann.received()).toEqual(['before']);
      expect(await bob.received()).toEqual(['before', 'news', 'sport']);
      // Of a peer that is in no topic.
      opened.audience.leaveAll(ann.peer);
    });

    it('keeps the order of frames with those that are sent to one peer', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      opened.audience.join(ann.peer, news);
      send(opened, news, '1');
      ann.peer.send('2');
      send(opened, news, '3');
      send(opened, news, '4');
      ann.peer.send('5');
      expect(await ann.received()).toEqual(['1', '2', '3', '4', '5']);
    });

    it('excludes one connection, whether or not it has joined', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      await using bob = await opened.connect();
      await using eve = await opened.connect();
      opened.audience.join(ann.peer, news);
      opened.audience.join(bob.peer, news);
      send(opened, news, 'not for ann', ann);
      send(opened, news, 'not for bob', bob);
      send(opened, news, 'for both', eve);
      expect(await ann.received()).toEqual(['not for bob', 'for both']);
      expect(await bob.received()).toEqual(['not for ann', 'for both']);
      expect(await eve.received()).toEqual([]);
    });

    it('returns how many peers it sent to', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      await using bob = await opened.connect();
      await using eve = await opened.connect();
      expect(send(opened, news, 'nobody')).toBe(0);
      opened.audience.join(ann.peer, news);
      opened.audience.join(bob.peer, news);
      expect(send(opened, news, 'both')).toBe(2);
      expect(send(opened, news, 'bob', ann)).toBe(1);
      expect(send(opened, news, 'ann', bob)).toBe(1);
      expect(send(opened, news, 'both again', eve)).toBe(2);
      opened.audience.leave(bob.peer, news);
      expect(send(opened, news, 'nobody', ann)).toBe(0);
    });

    it('keeps the order of frames that may wait with those that may not', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      opened.audience.join(ann.peer, news);
      for (const [n, other] of [false, true, undefined, true, false].entries()) {
        opened.audience.send(news, () => String(n), { mayWait: other ?? mayWait });
      }
      expect(await ann.received()).toEqual(['0', '1', '2', '3', '4']);
    });
  });

  describe(`${name} keeps the audience contract`, () => {
    it('excludes nobody if no connection has the socket id', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      opened.audience.join(ann.peer, news);
      opened.audience.send(news, () => 'hello', { except: '1.1' as SocketId });
      expect(await ann.received()).toEqual(['hello']);
    });

    it('makes the frame once, and only if there are subscribers', async () => {
      await using opened = await open();
      await using ann = await opened.connect();
      await using bob = await opened.connect();
      let made = 0;
      const makeFrame = () => `made ${++made}`;
      opened.audience.send(news, makeFrame);
      expect(made).toBe(0);
      for (const { peer } of [ann, bob]) opened.audience.join(peer, news);
      opened.audience.send(news, makeFrame);
      expect(await ann.received()).toEqual(['made 1']);
      expect(await bob.received()).toEqual(['made 1']);
      for (const { peer } of [ann, bob]) opened.audience.leave(peer, news);
      opened.audience.send(news, makeFrame);
      expect(made).toBe(1);
    });
  });
}
