import { describe, expect, it } from 'bun:test';
import type { Header, Line } from '../history/line.ts';
import { check } from './check.ts';
import { excuses } from './faults.ts';
import { HEADER } from './histories.fixture.ts';
import { ruleNames } from './verdict.ts';

/** A small history. `after` lets time pass; everything else takes 10 ms. */
class Story {
  readonly lines: Line[] = [];
  private readonly header: Header;
  private t = 0;

  constructor(header: Partial<Header> = {}) {
    this.header = { ...HEADER, ...header };
  }

  say(op: Line['op'], fields: object = {}): this {
    this.t += 10;
    this.lines.push({ op, t: this.t, ...fields } as Line);
    return this;
  }

  after(ms: number): this {
    this.t += ms;
    return this;
  }

  open(c: number, n = 1): this {
    return this.say('open', { c, n, socket: `${c}.${n}` });
  }

  close(c: number, n = 1): this {
    return this.say('close', { c, n, code: 1006 });
  }

  /** Subscribes, and is confirmed. */
  enter(
    c: number,
    ch: string,
    fields: { n?: number; asked?: object; confirmed?: object } = {},
  ): this {
    const { n = 1, asked = {}, confirmed = {} } = fields;
    return this.say('subscribe', { c, n, ch, ...asked }).say('subscribed', {
      c,
      n,
      ch,
      ...confirmed,
    });
  }

  send(e: string, ch = 'news', fields: object = {}): this {
    return this.say('trigger', { e, ch: [ch], ...fields });
  }

  answer(e: string, status = 200, fields: object = {}): this {
    return this.say('answer', { e, status, ...fields });
  }

  get(c: number, e: string, ch = 'news', fields: object = {}): this {
    return this.say('event', { c, n: 1, ch, e, ...fields });
  }

  fault(what: string, fields: object = {}): this {
    return this.say('fault', { what, ...fields });
  }

  /** What is not as promised: the names of the rules, those that are excused with `?`. */
  get wrong(): readonly string[] {
    const { rules } = check({ header: this.header, lines: this.lines });
    return ruleNames.flatMap((name) => {
      const { broken, excused } = rules[name];
      return [...(broken > 0 ? [name] : []), ...(excused > 0 ? [`${name}?`] : [])];
    });
  }
}

/** As many clients in a channel. */
function story(clients: number, ch = 'news', header: Partial<Header> = {}): Story {
  const told = new Story(header);
  for (let c = 1; c <= clients; c++) told.open(c).enter(c, ch);
  return told;
}

describe('order', () => {
  it('is one for all clients, over three of them too', () => {
    const sent = () => story(3).send('a').send('b').send('c');
    expect(sent().get(1, 'a').get(1, 'b').get(2, 'a').get(2, 'b').get(3, 'a').wrong).toEqual([]);
    expect(sent().get(1, 'a').get(1, 'b').get(2, 'b').get(2, 'a').wrong).toEqual(['order']);
    const circle = sent().get(1, 'a').get(1, 'b').get(2, 'b').get(2, 'c').get(3, 'c').get(3, 'a');
    expect(circle.wrong).toContain('order');
  });

  it('is not promised between channels', () => {
    const two = story(2).enter(1, 'other').enter(2, 'other').send('a').send('b', 'other');
    expect(two.get(1, 'a').get(1, 'b', 'other').get(2, 'b', 'other').get(2, 'a').wrong).toEqual([]);
  });

  it('counts members who come among the events', () => {
    const room = () => {
      const ch = 'presence-room';
      const told = new Story();
      for (const [c, members] of [
        [1, ['u1']],
        [2, ['u1', 'u2']],
      ] as const) {
        told.open(c).enter(c, ch, { asked: { user: `u${c}` }, confirmed: { members } });
      }
      told.say('joined', { c: 1, n: 1, ch, user: 'u2' });
      return told
        .open(3)
        .enter(3, ch, { asked: { user: 'u3' }, confirmed: { members: ['u1', 'u2', 'u3'] } });
    };
    const joined = (c: number) => ({ c, n: 1, ch: 'presence-room', user: 'u3' });
    const events = (told: Story, c: number, first: 'a' | 'joined') => {
      if (first === 'joined') told.say('joined', joined(c));
      told.get(c, 'a', 'presence-room');
      if (first === 'a') told.say('joined', joined(c));
      return told.get(c, 'b', 'presence-room');
    };
    const sent = () => room().send('a', 'presence-room').send('b', 'presence-room');
    expect(events(events(sent(), 1, 'a'), 2, 'a').wrong).toEqual([]);
    expect(events(events(sent(), 1, 'a'), 2, 'joined').wrong).toEqual(['order']);
  });
});

describe('after', () => {
  it('orders an event behind those that were answered before it was sent', () => {
    const late = () => story(1).send('a').answer('a').send('b').answer('b').get(1, 'b').get(1, 'a');
    expect(late().wrong).toEqual(['after']);
    const atOnce = story(1).send('a').send('b').answer('a').answer('b').get(1, 'b').get(1, 'a');
    expect(atOnce.wrong).toEqual([]);
  });

  it('holds where no client has both', () => {
    const sent = story(2).send('x').send('a').answer('a').send('b').answer('b').answer('x');
    // b before x, and x before a: so b before a.
    const cut = sent.get(1, 'x').get(1, 'a').close(1).get(2, 'b').get(2, 'x').close(2);
    expect(cut.wrong).toContain('after');
  });

  it('orders the events of a batch', () => {
    const batch = () => story(1).send('a', 'news', { batch: 1 }).send('b', 'news', { batch: 1 });
    expect(batch().get(1, 'a').get(1, 'b').wrong).toEqual([]);
    expect(batch().get(1, 'b').get(1, 'a').wrong).toEqual(['after']);
  });
});

const PLACE = { asked: { after: '' }, confirmed: { resume: { ok: true, missed: 0, id: '0-a' } } };
const resumed = (missed: number, ok = true) => ({
  n: 2,
  asked: { after: '1-a' },
  confirmed: { resume: { ok, missed, id: '9-z' } },
});

/** A client that resumes has one event, and is cut. */
const cutOnce = () =>
  new Story()
    .open(1)
    .enter(1, 'kept', PLACE)
    .send('a', 'kept')
    .answer('a', 200, { ids: { kept: '1-a' } })
    .get(1, 'a', 'kept', { id: '1-a' })
    .close(1);

it('a connection that subscribes again to a channel stays subscribed', () => {
  const again = story(1).say('subscribe', { c: 1, n: 1, ch: 'news' }).send('a').answer('a');
  expect(again.after(6000).say('calm').wrong).toEqual(['arrives']);
});

describe('once', () => {
  it('holds for a connection, and for all connections of a client that resumes', () => {
    expect(story(1).send('a').get(1, 'a').get(1, 'a').wrong).toEqual(['once']);
    const again = cutOnce()
      .open(1, 2)
      .enter(1, 'kept', resumed(1))
      .get(1, 'a', 'kept', { n: 2, id: '1-a' });
    expect(again.wrong).toEqual(['once']);
    const gap = cutOnce().open(1, 2).enter(1, 'kept', resumed(0, false));
    expect(gap.wrong).toEqual([]);
  });

  it('takes events with one idempotency key as one', () => {
    const key = { key: 'order-7' };
    const twice = story(1)
      .send('a', 'news', key)
      .answer('a', 503)
      .send('b', 'news', key)
      .answer('b');
    expect(twice.get(1, 'a').wrong).toEqual([]);
    expect(twice.get(1, 'b').wrong).toEqual(['once']);
  });

  it('takes a trigger that was repeated with its key for another event where Redis has lost its data', () => {
    const repeated = (what: string, key: object) => {
      const told = story(1).send('a', 'news', key).answer('a').get(1, 'a').send('a', 'news', key);
      const both = told.fault(what).open(2).enter(2, 'news').send('b').answer('b');
      return both.get(1, 'b').get(2, 'b').get(1, 'a').get(2, 'a').wrong;
    };
    const key = { key: 'order-7' };
    expect(repeated('kill', key)).toEqual(['order', 'after', 'once', 'known']);
    expect(repeated('redis-lost', {})).toEqual(['order', 'after', 'once', 'known']);
    expect(repeated('redis-lost', key)).toEqual([]);
  });
});

describe('known', () => {
  const old = (header: Partial<Header>, ch: string) =>
    new Story(header).open(1).send('a', ch).answer('a').enter(1, ch).get(1, 'a', ch);

  it('allows older events where the channel promises them', () => {
    expect(old({}, 'news').wrong).toEqual(['known']);
    expect(old({}, 'cache-news').wrong).toEqual([]);
    expect(old({ rules: { kept: [], replay: ['ne*'] } }, 'news').wrong).toEqual([]);
  });

  it('allows a newcomer the cached event that excluded its socket, but not as a live event', () => {
    const excluded = (told: Story) => told.send('a', 'cache-news', { except: '1.1' }).answer('a');
    const newcomer = excluded(new Story().open(1)).enter(1, 'cache-news');
    expect(newcomer.get(1, 'a', 'cache-news').wrong).toEqual([]);
    const again = excluded(new Story().open(1))
      .close(1)
      .open(1, 2)
      .enter(1, 'cache-news', { n: 2 });
    expect(again.get(1, 'a', 'cache-news', { n: 2 }).wrong).toEqual([]);
    expect(excluded(story(1, 'cache-news')).get(1, 'a', 'cache-news').wrong).toEqual(['known']);
    const second = excluded(new Story().open(1)).enter(1, 'cache-news').send('b', 'cache-news');
    expect(second.get(1, 'b', 'cache-news').get(1, 'a', 'cache-news').wrong).toContain('known');
  });

  it('knows a refusal that is answered later', () => {
    expect(story(1).send('a').get(1, 'a').answer('a', 413).wrong).toEqual(['known']);
    expect(story(1).send('a').get(1, 'a').answer('a', 503).wrong).toEqual([]);
  });

  it('excludes a client after its reconnect too, if it had the socket at the answer', () => {
    const excluded = (isAnswered: boolean) => {
      const told = new Story().open(1).enter(1, 'kept', PLACE);
      told.send('a', 'kept').answer('a', 200, { ids: { kept: '1-a' } });
      told.get(1, 'a', 'kept', { id: '1-a' }).send('b', 'kept', { except: '1.1' });
      if (isAnswered) told.answer('b');
      told.close(1).open(1, 2).enter(1, 'kept', resumed(1));
      if (!isAnswered) told.answer('b');
      return told.get(1, 'b', 'kept', { n: 2, id: '2-b' }).wrong;
    };
    expect([excluded(true), excluded(false)]).toEqual([['known'], []]);
  });
});

describe('arrives', () => {
  const missing = (told: Story) => told.after(6000).say('calm').wrong;

  it('holds for whoever was subscribed when an event was sent, and stays', () => {
    const sent = () => story(2).send('a').answer('a').get(1, 'a');
    expect(missing(sent())).toEqual(['arrives']);
    expect(missing(sent().close(2))).toEqual([]);
    expect(missing(story(1).send('a').answer('a', 503))).toEqual([]);
    expect(missing(story(1).send('a', 'news', { except: '1.1' }).answer('a'))).toEqual([]);
    expect(missing(new Story().open(1).send('a').answer('a').enter(1, 'news'))).toEqual([]);
  });

  it('needs no time to pass where a later event has come', () => {
    const passed = story(1).send('a').answer('a').send('b').answer('b').get(1, 'b').close(1);
    expect(passed.wrong).toEqual(['arrives']);
    const between = story(2).send('a').send('b').send('c').get(1, 'a').get(1, 'b').get(1, 'c');
    expect(between.get(2, 'a').get(2, 'c').close(2).wrong).toEqual(['arrives']);
  });

  it('has 5 s, and longer while a fault lasts', () => {
    const late = (told: Story) => told.send('a').answer('a').after(20_000).get(1, 'a').wrong;
    expect(late(story(1))).toEqual(['arrives']);
    expect(late(story(1).fault('pause', { until: 18_000 }))).toEqual([]);
    expect(late(story(1).fault('pause', { until: 12_000 }))).toEqual(['arrives']);
  });

  it('demands nothing of a link after it was last heard, whose client found out later', () => {
    const silent = (fields: object) => {
      const told = story(2).send('a').answer('a').get(1, 'a').after(30_000);
      return told.say('close', { c: 2, n: 1, code: 1006, ...fields }).wrong;
    };
    expect([silent({}), silent({ heard: 60 })]).toEqual([['arrives'], []]);
    expect(silent({ heard: 20_000 })).toEqual(['arrives']);
  });

  it('is excused where Redis has lost its last second, and for no other reason', () => {
    const lost = (ms: number) => story(1).send('a').answer('a').after(ms).fault('redis-lost');
    expect(missing(lost(900).after(6000))).toEqual(['arrives?']);
    expect(missing(lost(1100).after(6000))).toEqual(['arrives']);
    expect(missing(story(1).send('a').answer('a').fault('kill').after(6000))).toEqual(['arrives']);
  });
});

describe('resumes', () => {
  const missed = () =>
    cutOnce()
      .send('b', 'kept')
      .answer('b', 200, { ids: { kept: '2-b' } })
      .open(1, 2);
  const later = (told: Story) => told.after(6000).say('calm').wrong;
  const kept = { n: 2, id: '2-b' };

  it('gives everything since the place, or tells of a gap', () => {
    expect(later(missed().enter(1, 'kept', resumed(1)).get(1, 'b', 'kept', kept))).toEqual([]);
    expect(later(missed().enter(1, 'kept', resumed(0)))).toEqual(['resumes']);
    expect(later(missed().enter(1, 'kept', resumed(0, false)))).toEqual([]);
    expect(later(missed().enter(1, 'kept', resumed(1)).close(1, 2))).toEqual([]);
  });

  it('demands ids that are the same everywhere, and grow', () => {
    const told = () => story(2, 'kept').send('a', 'kept').send('b', 'kept');
    const two = told().get(1, 'a', 'kept', { id: '1-a' }).get(2, 'a', 'kept', { id: '1-b' });
    expect(two.wrong).toEqual(['resumes']);
    const same = told().get(1, 'a', 'kept', { id: '1-a' }).get(1, 'b', 'kept', { id: '1-a' });
    expect(same.wrong).toEqual(['resumes']);
    const back = (what?: string) => {
      const first = told().get(1, 'a', 'kept', { id: '7-a' });
      if (what !== undefined) first.fault(what);
      return first.get(1, 'b', 'kept', { id: '1-b' }).wrong;
    };
    expect([back(), back('kill'), back('redis-lost')]).toEqual([['resumes'], ['resumes'], []]);
    const repeated = (what: string) => {
      const once = told().get(1, 'a', 'kept', { id: '7-a' }).fault(what);
      return once.get(2, 'a', 'kept', { id: '1-b' }).wrong;
    };
    expect([repeated('kill'), repeated('redis-lost')]).toEqual([['resumes'], []]);
  });
});

describe('present and counts', () => {
  const room = (members: readonly string[]) =>
    new Story().open(1).enter(1, 'presence-a', { asked: { user: 'u' }, confirmed: { members } });

  it('are looked at only when nothing has changed for 5 s, and faults are over', () => {
    const ghost = () => room(['u', 'ghost']);
    expect(ghost().after(5000).say('calm').wrong).toEqual(['present']);
    expect(ghost().after(4000).say('calm').wrong).toEqual([]);
    expect(ghost().fault('kill').after(14_000).say('calm').wrong).toEqual([]);
    expect(ghost().fault('kill').after(15_000).say('calm').wrong).toEqual(['present']);
    expect(room(['u']).after(5000).say('calm').wrong).toEqual([]);
  });

  it('wait until a server must have noticed that a link is silent', () => {
    const told = (ms: number) =>
      room(['u', 'ghost'])
        .open(2)
        .say('close', { c: 2, n: 1, code: 1006, until: 30_000 })
        .after(ms)
        .say('calm').wrong;
    expect([told(34_000), told(35_000)]).toEqual([[], ['present']]);
  });

  it('compare the answer about users, and the last count', () => {
    const users = (names: readonly string[]) =>
      room(['u'])
        .after(6000)
        .say('calm')
        .say('users', { ch: 'presence-a', status: 200, users: names });
    expect([users(['u']).wrong, users([]).wrong]).toEqual([[], ['present']]);
    const count = (told: number) =>
      story(2).say('counted', { c: 1, n: 1, ch: 'news', count: told }).after(6000).say('calm')
        .wrong;
    expect([count(2), count(1)]).toEqual([[], ['counts']]);
  });

  it('demand that a new subscriber is on its own list', () => {
    expect(room(['other']).wrong).toEqual(['members']);
  });
});

describe('webhooks', () => {
  const hook = (told: Story, name: string, request: string) =>
    told.say('webhook', { ch: 'news', name, time: told.lines.length, request });
  const occupied = () => hook(story(1), 'channel_occupied', 'r1');

  it('say in the end what is true, each time once', () => {
    expect(occupied().after(10_000).say('calm').wrong).toEqual([]);
    expect(hook(occupied(), 'channel_occupied', 'r1').wrong).toEqual([]);
    expect(hook(occupied(), 'channel_occupied', 'r2').wrong).toEqual(['webhooks']);
    const vacated = hook(occupied(), 'channel_vacated', 'r2').after(10_000).say('calm');
    expect(vacated.wrong).toEqual(['webhooks']);
    expect(occupied().close(1).after(10_000).say('calm').wrong).toEqual(['webhooks']);
    expect(story(1).after(10_000).say('calm').wrong).toEqual(['webhooks']);
  });

  it('need not come at all if nobody stayed for long in a channel that they tell of', () => {
    const stayed = (ch: string, ms: number) =>
      story(0).open(1).enter(1, ch).after(ms).close(1).after(10_000).say('calm').wrong;
    expect([stayed('news', 2900), stayed('#server-to-user-ann', 15_000)]).toEqual([[], []]);
    expect(stayed('news', 3100)).toEqual(['webhooks']);
  });

  it('need not report an absence of less than 15 s that a killed server caused', () => {
    const away = (ms: number, what: string) => {
      const told = occupied().after(4000).close(1).fault(what).after(ms).open(1, 2);
      return told.enter(1, 'news', { n: 2 }).after(31_000).say('calm').wrong;
    };
    expect([away(14_000, 'kill'), away(14_000, 'stop')]).toEqual([[], ['webhooks']]);
    expect(away(16_000, 'kill')).not.toEqual([]);
  });

  it('need not report an absence that a busy server may have seen for less than 3 s', () => {
    const away = (ms: number) => {
      const told = occupied().after(4000).close(1).after(ms).open(1, 2);
      return told.enter(1, 'news', { n: 2 }).after(10_000).say('calm').wrong;
    };
    expect([away(7900), away(8100)]).toEqual([[], ['webhooks']]);
  });

  it('need not report an absence in which a server may have seen a subscription that it could not confirm', () => {
    const away = (ms: number) => {
      const told = occupied().after(4000).close(1).after(ms).open(1, 2);
      told.say('subscribe', { c: 1, n: 2, ch: 'news' }).close(1, 2).after(ms).open(1, 3);
      return told.enter(1, 'news', { n: 3 }).after(10_000).say('calm').wrong;
    };
    expect([away(7900), away(8100)]).toEqual([[], ['webhooks']]);
  });

  it('need not report an absence that is short but for a pause, or for silence of Redis', () => {
    const away = (ms: number, what: string) => {
      const told = occupied().after(4000).close(1).fault(what, { until: 34_000 });
      return told.after(ms).open(1, 2).enter(1, 'news', { n: 2 }).after(60_000).say('calm').wrong;
    };
    expect([away(38_000, 'pause'), away(33_000, 'redis-away')]).toEqual([[], []]);
    expect([away(41_000, 'pause'), away(36_000, 'redis-away')]).toEqual([
      ['webhooks'],
      ['webhooks'],
    ]);
  });

  it('need not report an absence in which an earlier connection still counted, whose link was cut', () => {
    const away = (ms: number, what: string) => {
      const told = occupied().after(4000).fault(what, { until: 4200 }).close(1).open(1, 2);
      told.enter(1, 'news', { n: 2 }).after(6000);
      told.say('unsubscribe', { c: 1, n: 2, ch: 'news' }).after(ms);
      return told.enter(1, 'news', { n: 2 }).after(60_000).say('calm').wrong;
    };
    expect([away(11_900, 'cut-off'), away(12_200, 'cut-off')]).toEqual([[], ['webhooks']]);
    expect(away(8100, 'stop')).toEqual(['webhooks']);
  });

  it('may report a channel again if Redis had lost its data, and a server could not state soon whom it holds', () => {
    const twice = (ms: number, other: string) => {
      const told = occupied().after(4000).fault('redis-lost').after(ms).fault(other).after(1000);
      return hook(told, 'channel_occupied', 'r2').after(60_000).say('calm').wrong;
    };
    expect([twice(9000, 'pause'), twice(9000, 'redis-lost')]).toEqual([
      ['webhooks?'],
      ['webhooks?'],
    ]);
    expect([twice(11_000, 'pause'), twice(9000, 'stop')]).toEqual([['webhooks'], ['webhooks']]);
  });

  it('may leave out a return if Redis had lost its data, a server could not state soon whom it holds, and another was killed', () => {
    const back = (...faults: readonly string[]) => {
      const told = hook(occupied().after(20_000).close(1).after(5000), 'channel_vacated', 'r2');
      for (const fault of faults) told.after(2000).fault(fault);
      return told.after(2000).open(1, 2).enter(1, 'news', { n: 2 }).after(60_000).say('calm').wrong;
    };
    expect(back('kill', 'redis-lost', 'pause')).toEqual(['webhooks?']);
    expect([back('redis-lost', 'pause'), back('kill', 'redis-lost')]).toEqual([
      ['webhooks'],
      ['webhooks'],
    ]);
  });

  it('may report a user or a channel again whose server was killed, however late the first report came', () => {
    const twice = (fault: string) => {
      const at = (time: number, request: string) => ({
        ch: 'news',
        name: 'channel_occupied',
        time,
        request,
      });
      const told = story(1).say('webhook', {
        ch: 'other',
        name: 'channel_occupied',
        time: 1000,
        request: 'r1',
      });
      told.after(1000).fault(fault).after(10_000).say('webhook', at(1100, 'r2'));
      return told.after(100).say('webhook', at(12_000, 'r3')).wrong;
    };
    expect([twice('kill'), twice('pause')]).toEqual([['webhooks?'], ['webhooks']]);
  });

  it('need not tell of the channel of a user', () => {
    const told = occupied().enter(1, '#server-to-user-ann', { asked: { user: 'ann' } });
    expect(told.after(15_000).say('calm').wrong).toEqual([]);
  });

  const begins = (told: Story) =>
    told.say('webhook', { ch: 'other', name: 'channel_occupied', time: 0, request: 'r0' });
  const settled = (told: Story) => told.after(30_000).say('calm').wrong;

  it('may lack what began in the last 600 ms before the only server was killed, and a second more, which a message may take', () => {
    const lost = (ms: number) => settled(begins(story(1)).after(ms).fault('kill'));
    expect([lost(1500), lost(1700)]).toEqual([['webhooks?'], ['webhooks']]);
  });

  it('may lack who left in the last 3.6 s before the only server was killed, and a second more', () => {
    const lost = (ms: number) => settled(occupied().close(1).after(ms).fault('kill'));
    expect([lost(4500), lost(4700)]).toEqual([['webhooks?'], ['webhooks']]);
  });

  it('may lack who left before the only server was paused for longer, and then killed', () => {
    const left = () => occupied().close(1).after(1000);
    expect(settled(left().fault('pause').after(4500).fault('kill'))).toEqual(['webhooks?']);
    expect(settled(left().after(4500).fault('kill'))).toEqual(['webhooks']);
  });

  it('report again who was there or had just left when the only server was killed, and nobody else', () => {
    const twice = (goneMs: number, fault: string) => {
      const told = occupied().after(4000).close(1).after(goneMs).fault(fault).open(1, 2);
      return settled(hook(told.enter(1, 'news', { n: 2 }), 'channel_occupied', 'r2'));
    };
    expect([twice(4500, 'kill'), twice(4700, 'kill')]).toEqual([['webhooks?'], ['webhooks']]);
    expect(twice(3500, 'stop')).toEqual(['webhooks']);
    const unconfirmed = new Story().open(1).say('subscribe', { c: 1, n: 1, ch: 'news' });
    const again = hook(unconfirmed, 'channel_occupied', 'r1').close(1).fault('kill').open(1, 2);
    const both = hook(again.enter(1, 'news', { n: 2 }), 'channel_occupied', 'r2');
    expect(settled(both)).toEqual(['webhooks?']);
  });

  it('are all there if one of several servers was killed: clients of others go on to receive', () => {
    const told = hook(story(1).open(2).enter(2, 'other'), 'channel_occupied', 'r1');
    const killed = begins(told).after(4000).close(1).fault('kill').after(1500);
    expect(settled(killed)).toEqual(['webhooks?']);
    const others = begins(hook(story(1).open(2).enter(2, 'other'), 'channel_occupied', 'r1'));
    const outlived = others.after(4000).close(1).fault('kill').after(1500).send('a', 'other');
    expect(settled(outlived.answer('a').get(2, 'a', 'other'))).toEqual(['webhooks']);
  });

  it('may lack what one of several servers began before it was killed, if Redis lost its data before another one sent it', () => {
    const lost = (killMs: number, lossMs: number, loss = 'redis-lost') => {
      const told = begins(story(1).open(2).enter(2, 'other')).after(killMs).fault('kill');
      const outlived = told.after(1500).send('a', 'other').answer('a').get(2, 'a', 'other');
      return settled(outlived.after(lossMs - 1500).fault(loss));
    };
    expect([lost(1500, 29_000), lost(1700, 29_000)]).toEqual([['webhooks?'], ['webhooks']]);
    expect([lost(1500, 31_000), lost(1500, 29_000, 'redis-away')]).toEqual([
      ['webhooks'],
      ['webhooks'],
    ]);
  });

  it('may lack none of two stays because of a kill at another time', () => {
    const told = occupied().after(4000).fault('kill').after(4000).close(1).after(9000).open(1, 2);
    expect(settled(told.enter(1, 'news', { n: 2 }))).toEqual(['webhooks']);
  });
});

describe('pushes and live', () => {
  const published = (status = 200) =>
    story(1)
      .say('subscribe', { c: 1, n: 1, ch: 'presence-a', user: 'ann' })
      .send('a')
      .say('publish', { p: 'p', devices: { d: 'ann' }, live: 'a' })
      .say('published', { p: 'p', status });
  const notified = { p: 'p', d: 'd', result: 'accepted' };
  const end = (told: Story) => told.after(6000).say('calm').wrong;

  it('notify each device once, or have a reason', () => {
    expect(end(published())).toEqual(['pushes', 'live']);
    expect(end(published(503))).toEqual([]);
    expect(end(published(400).say('notified', notified))).toEqual(['pushes']);
    expect(end(published().say('explained', { p: 'p', d: 'd', state: 'failed' }))).toEqual([]);
    const twice = () => published().say('notified', notified);
    expect(end(twice().say('notified', notified))).toEqual(['pushes']);
    expect(end(twice().fault('kill').say('notified', notified))).toEqual([]);
    expect(end(twice().say('notified', { ...notified, d: 'other' }))).toEqual(['pushes']);
  });

  it('notify a device again only if a fault came between the two', () => {
    const again = (told: Story) => end(told.after(6000).say('notified', notified));
    const once = () => published().say('notified', notified).after(100);
    const known = () => once().say('explained', { p: 'p', d: 'd', state: 'accepted' });
    const before = published().fault('kill').after(6000).say('notified', notified).after(100);
    expect(again(before)).toEqual(['pushes']);
    for (const fault of ['kill', 'power', 'gateway', 'store-away']) {
      expect(again(once().fault(fault))).toEqual([]);
      expect(again(known().fault(fault))).toEqual(['pushes']);
    }
    for (const fault of ['pause', 'cut-off', 'clock'])
      expect(again(known().fault(fault))).toEqual([]);
    expect(again(once().fault('stop'))).toEqual(['pushes']);
  });

  it('count nobody as notified whom no gateway has notified', () => {
    const counted = () => published().say('explained', { p: 'p', d: 'd', state: 'accepted' });
    expect(end(counted())).toEqual(['pushes']);
    expect(end(counted().say('notified', notified))).toEqual([]);
    expect(end(counted().say('notified', { ...notified, result: 'refused' }))).toEqual(['pushes']);
  });

  it('notify nobody who has the event in the app, unless the link was cut', () => {
    const reached = () => published().get(1, 'a');
    expect(end(reached().say('explained', { p: 'p', d: 'd', state: 'live-reached' }))).toEqual([]);
    expect(end(reached().say('notified', notified))).toEqual(['live']);
    expect(end(reached().close(1).say('notified', notified))).toEqual([]);
    for (const fault of ['redis-away', 'store-away'])
      expect(end(reached().fault(fault).say('notified', notified))).toEqual([]);
    expect(end(reached().fault('gateway').say('notified', notified))).toEqual(['live']);
  });
});

describe('the table of excuses', () => {
  it('names each rule and fault that excuses it, and nothing else', () => {
    const rows = excuses.map(({ rule, faults }) => `${rule}: ${faults.join(', ')}`);
    expect(rows).toEqual(['arrives: redis-lost', 'webhooks: kill, power']);
  });
});

describe('recovery', () => {
  it('is the time until the first, half and all clients are subscribed and right again', () => {
    const told = story(2).fault('kill').close(1).close(2).after(500).open(1, 2).open(2, 2);
    const subscribed = told.enter(1, 'news', { n: 2 }).after(1000).enter(2, 'news', { n: 2 });
    const { recovered } = check({ header: HEADER, lines: subscribed.after(10).say('calm').lines });
    expect(recovered).toEqual([{ t: 70, first: 0.56, median: 0.56, seconds: 1.58 }]);
    const { recovered: never } = check({ header: HEADER, lines: told.lines.slice(0, -4) });
    expect(never).toEqual([{ t: 70, first: null, median: null, seconds: null }]);
  });
});
