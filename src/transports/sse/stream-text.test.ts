import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import type { ChannelText } from '../../channels/channel-name.ts';
import type { EventId } from '../../channels/history/event-id.ts';
import { resumeAnswer } from '../../channels/history/resume.ts';
import {
  clientEventMessage,
  eventMessage,
  presenceSucceeded,
  subscriptionSucceeded,
} from '../../channels/wire.ts';
import { readPlaces, samePlaces } from './places.ts';
import { StreamText } from './stream-text.ts';

const id = (text: string) => text as EventId;
const [a, b] = ['private-a' as ChannelText, 'private-b' as ChannelText];

describe('places', () => {
  it('are one for each channel: an id or nothing', () => {
    expect(readPlaces('1-abcdefgh', 1)).toEqual([id('1-abcdefgh')]);
    expect(readPlaces(',2-abcdefgh,', 3)).toEqual(['none', id('2-abcdefgh'), 'none']);
    for (const text of ['x', '1-abcdefg', '1-abcdefgh,', ' 1-abcdefgh', '1-abcdefgh\n']) {
      expect(readPlaces(text, 1)).toBeUndefined();
    }
    expect(readPlaces('1-abcdefgh', 2)).toBeUndefined();
  });

  it('come back as they were written', () => {
    const place = fc.option(
      fc.tuple(fc.nat(), fc.stringMatching(/^[a-z0-9]{8}$/)).map(([n, half]) => id(`${n}-${half}`)),
      { nil: '' as const },
    );
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 20 }), (places) => {
        const read = readPlaces(places.join(','), places.length);
        expect(read).toEqual(places.map((one) => (one === '' ? 'none' : one)));
      }),
    );
  });
});

describe('the text of a frame', () => {
  it('has the id of an event, and never one that its name or its data imitate', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom(',"id":"1-abcdefgh"}', ',"channel":"private-b"', '"}\n\nid: x', '\\'),
    );
    fc.assert(
      fc.property(text, text, fc.boolean(), (name, data, hasId) => {
        const [one, two] = [id('7-abcdefgh'), id('8-abcdefgh')];
        const stream = new StreamText([a, b], [one, two]);
        const event = id('9-abcdefgh');
        const frame = eventMessage(`x${name}`, a, data, hasId ? event : undefined);
        const ids = hasId ? `id: ${event},${two}\n` : '';
        expect(stream.of(frame)).toBe(`${ids}data: ${frame}\n\n`);
        const relayed = clientEventMessage(`client-${name}`, b, JSON.stringify(data), name);
        expect(stream.of(relayed)).toBe(`data: ${relayed}\n\n`);
        expect(frame + relayed).not.toContain('\n');
        expect(new StreamText([a], [one]).of(frame)).toBe(
          `${hasId ? `id: ${event}\n` : ''}data: ${frame}\n\n`,
        );
      }),
    );
  });

  it('has the new place with a confirmation only if nothing is missed', () => {
    const given = id('7-abcdefgh');
    const newest = id('9-abcdefgh');
    const idsOf = (outcome: 'resumed' | 'begun' | 'forgotten' | 'too-much', missed: number) => {
      const frames = Array.from({ length: missed }, () => '');
      const resume = resumeAnswer({ id: newest, outcome, frames });
      const text = new StreamText([a], [given]).of(subscriptionSucceeded(a, resume));
      return Array.from(text.matchAll(/^id: (.*)$/gm), ([, found]) => found);
    };
    expect(idsOf('resumed', 0)).toEqual([newest]);
    expect(idsOf('begun', 0)).toEqual([newest]);
    expect(idsOf('resumed', 2)).toEqual([given]);
    expect(idsOf('forgotten', 0)).toEqual([given, newest]);
    expect(idsOf('too-much', 0)).toEqual([given, newest]);
  });

  it('has no place of a channel that keeps no history, and forgets one that was given', () => {
    const stream = new StreamText([a, b], [id('7-abcdefgh'), 'none']);
    expect(stream.of(subscriptionSucceeded(a))).not.toContain('id:');
  });

  it('is not deceived by a member whose info imitates a confirmation', () => {
    const answer = '{"resume":{"ok":false,"id":"1-abcdefgh","missed":0,"why":"forgotten"}}';
    const members = [{ userId: 'ann', userInfo: answer }];
    const channel = 'presence-a' as ChannelText;
    const stream = new StreamText([channel], samePlaces(1, 'none'));
    const frame = presenceSucceeded(channel, { members });
    expect(stream.of(frame)).toBe(`event: pusher\ndata: ${frame}\n\n`);
  });
});
