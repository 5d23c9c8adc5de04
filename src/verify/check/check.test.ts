import { describe, expect, it } from 'bun:test';
import { Random } from '../../../testing/random.ts';
import type { Line, LineOf, Op } from '../history/line.ts';
import { check } from './check.ts';
import { HEADER, rightHistory } from './histories.fixture.ts';
import { type RuleName, ruleNames, type Verdict } from './verdict.ts';

function judge(lines: readonly Line[]): Verdict {
  return check({ header: HEADER, lines });
}

const brokenIn = ({ rules }: Verdict) => ruleNames.filter((name) => rules[name].state === 'broken');

describe('a history in which everything is right', () => {
  it('holds, and every promise was tried', () => {
    for (let seed = 0; seed < 6; seed++) {
      const verdict = judge(rightHistory(seed));
      expect([seed, verdict.witnesses]).toEqual([seed, []]);
      if (seed > 0) continue;
      expect(Object.values(verdict.rules).map(({ state }) => state)).toEqual(
        Array(12).fill('held'),
      );
    }
  });
});

/** Changes a right history, at a place that chance picks. */
type Change = (lines: Line[], random: Random) => void;

/** The indices of the lines of one kind that a test accepts. */
function places<O extends Op>(
  lines: readonly Line[],
  op: O,
  accepts: (line: LineOf<O>, at: number) => boolean = () => true,
): readonly number[] {
  return lines.flatMap((line, at) =>
    line.op === op && accepts(line as LineOf<O>, at) ? [at] : [],
  );
}

const replace = (lines: Line[], at: number, fields: object) => {
  lines[at] = { ...lines[at], ...fields } as Line;
};
const remove = (lines: Line[], at: number) => lines.splice(at, 1);
const insert = (lines: Line[], at: number, line: object) => lines.splice(at, 0, line as Line);

/** Deliveries to connections that then go on to receive events of the same channel. */
function followed(lines: readonly Line[], ch?: string): readonly number[] {
  const later = new Set<string>();
  const found: number[] = [];
  for (const [at, line] of [...lines.entries()].reverse()) {
    if (line.op !== 'event') continue;
    const key = `${line.c} ${line.n} ${line.ch}`;
    const count = [0, 1, 2, 3, 4, 5].find((n) => !later.has(`${key} ${n}`));
    if (count !== undefined) later.add(`${key} ${count}`);
    else if (ch === undefined || line.ch === ch) found.push(at);
  }
  return found.filter(isPromised(lines));
}

/** Of an event that was sent before the subscription was confirmed, or that nobody knows of yet, nothing is promised. */
function isPromised(lines: readonly Line[]): (at: number) => boolean {
  return (at) => {
    const { c, n, ch, e } = nth(lines, at, 'event');
    const confirmed = lines.findLastIndex(
      (line, index) =>
        index < at && line.op === 'subscribed' && line.c === c && line.n === n && line.ch === ch,
    );
    const sent = lines.findIndex((line) => line.op === 'trigger' && line.e === e);
    const known = lines.findIndex(
      (line) =>
        (line.op === 'event' && line.e === e) ||
        (line.op === 'answer' && line.e === e && line.status === 200),
    );
    return sent > confirmed && known < at;
  };
}

/** The next delivery on the same connection and channel. */
function nextOf(lines: readonly Line[], at: number): number {
  const { c, n, ch } = lines[at] as LineOf<'event'>;
  const is = (line: Line) => line.op === 'event' && line.c === c && line.n === n && line.ch === ch;
  return lines.findIndex((line, index) => index > at && is(line));
}

const nth = <O extends Op>(lines: readonly Line[], at: number, op: O) => {
  const line = lines[at];
  if (line?.op !== op) throw new Error(`line ${at} is no ${op}`);
  return line as LineOf<O>;
};

const changes: readonly (readonly [name: string, rule: RuleName, change: Change])[] = [
  [
    'a lost event',
    'arrives',
    (lines, random) => {
      remove(lines, random.pick(followed(lines, 'news')));
    },
  ],
  [
    'an event that came too late',
    'arrives',
    (lines, random) => {
      const at = random.pick(followed(lines, 'news'));
      for (let later = at; later < lines.length; later++) {
        replace(lines, later, { t: (lines[later]?.t ?? 0) + 6000 });
      }
    },
  ],
  [
    'an answer 200 for an event that was refused inside',
    'arrives',
    (lines) => {
      const calm = lines.findIndex(({ op }) => op === 'calm');
      const t = lines[calm - 1]?.t;
      insert(lines, calm, { t, op: 'trigger', e: 'refused', ch: ['news'] });
      insert(lines, calm + 1, { t, op: 'answer', e: 'refused', status: 200 });
    },
  ],
  [
    'a doubled event',
    'once',
    (lines, random) => {
      const at = random.pick(followed(lines));
      insert(lines, at + random.between(1, 3), lines[at] ?? {});
    },
  ],
  [
    'two events that changed places for one client',
    'order',
    (lines, random) => {
      const at = random.pick(followed(lines, 'news'));
      const next = nextOf(lines, at);
      const [a, b] = [nth(lines, at, 'event'), nth(lines, next, 'event')];
      replace(lines, at, { e: b.e });
      replace(lines, next, { e: a.e });
    },
  ],
  [
    'an event that nobody sent',
    'known',
    (lines, random) => {
      replace(lines, random.pick(followed(lines)), { e: 'invented' });
    },
  ],
  [
    'an event of another channel',
    'known',
    (lines, random) => {
      const at = random.pick(followed(lines, 'news'));
      const { e } = nth(
        lines,
        random.pick(places(lines, 'trigger', (line) => !line.ch.includes('news'))),
        'trigger',
      );
      replace(lines, at, { e });
    },
  ],
  [
    'an event that was refused',
    'known',
    (lines, random) => {
      const at = random.pick(
        places(
          lines,
          'answer',
          ({ e }) => places(lines, 'trigger', (line) => line.e === e).length === 1,
        ),
      );
      const { e } = nth(lines, at, 'answer');
      if (lines.some((line) => line.op === 'event' && line.e === e))
        replace(lines, at, { status: 400 });
      else replace(lines, random.pick(followed(lines)), { e: 'invented' });
    },
  ],
  [
    'an event that excludes the socket',
    'known',
    (lines, random) => {
      const at = random.pick(
        followed(lines).filter((index) => {
          const { e } = nth(lines, index, 'event');
          return places(lines, 'trigger', (line) => line.e === e).length === 1;
        }),
      );
      const { e, c, n } = nth(lines, at, 'event');
      const [trigger = 0] = places(lines, 'trigger', (line) => line.e === e);
      replace(lines, trigger, { except: `${c}.${n}` });
    },
  ],
  [
    'an event that is older than the subscription',
    'known',
    (lines, random) => {
      const at = random.pick(
        places(
          lines,
          'subscribed',
          (line, index) => line.ch === 'news' && index > lines.length / 3,
        ),
      );
      const { c, n, ch } = nth(lines, at, 'subscribed');
      const [answer = 0] = places(
        lines,
        'answer',
        ({ e, status }) =>
          status === 200 &&
          lines.some((line) => line.op === 'trigger' && line.e === e && line.ch.includes('news')),
      );
      const { e } = nth(lines, answer, 'answer');
      insert(lines, at + 1, { t: lines[at]?.t, op: 'event', c, n, ch, e });
    },
  ],
  [
    'a silent hole',
    'resumes',
    (lines, random) => {
      const at = random.pick(
        places(lines, 'subscribed', ({ resume }) => resume?.ok === true && resume.missed > 0),
      );
      const { c, n } = nth(lines, at, 'subscribed');
      const first = lines.findIndex(
        (line, index) =>
          index > at && line.op === 'event' && line.c === c && line.n === n && line.ch === 'kept',
      );
      // The connection may have been cut before it had them.
      const later = first < 0 ? -1 : nextOf(lines, first);
      if (later < 0)
        return void replace(lines, random.pick(followed(lines, 'kept')), { id: '1-other' });
      remove(lines, first);
    },
  ],
  [
    'another id',
    'resumes',
    (lines, random) => {
      replace(lines, random.pick(followed(lines, 'kept')), { id: '999999-other' });
    },
  ],
  [
    'another id in an answer',
    'resumes',
    (lines, random) => {
      const at = random.pick(places(lines, 'answer', ({ ids }) => ids?.['kept'] !== undefined));
      const { e } = nth(lines, at, 'answer');
      if (lines.some((line) => line.op === 'event' && line.e === e))
        replace(lines, at, { ids: { kept: '7-wrong' } });
      else replace(lines, random.pick(followed(lines, 'kept')), { id: '999999-other' });
    },
  ],
  [
    'a member who leaves without a word',
    'present',
    (lines, random) => {
      const isLast = (line: LineOf<'left'> | LineOf<'joined'>, at: number) =>
        !lines.some(
          (other, index) =>
            index > at &&
            'c' in other &&
            other.c === line.c &&
            (other.op === 'close' || ('user' in other && other.user === line.user)),
        );
      remove(
        lines,
        random.pick([...places(lines, 'left', isLast), ...places(lines, 'joined', isLast)]),
      );
    },
  ],
  [
    'a member who joins twice',
    'members',
    (lines, random) => {
      const at = random.pick(places(lines, 'joined'));
      insert(lines, at, lines[at] ?? {});
    },
  ],
  [
    'a member who leaves twice',
    'members',
    (lines, random) => {
      const at = random.pick(places(lines, 'left'));
      insert(lines, at, lines[at] ?? {});
    },
  ],
  [
    'another answer about users',
    'present',
    (lines) => {
      const at = lines.findLastIndex((line) => line.op === 'users');
      replace(lines, at, { users: ['a-ghost'] });
    },
  ],
  [
    'a wrong count',
    'counts',
    (lines) => {
      replace(
        lines,
        lines.findLastIndex((line) => line.op === 'counted'),
        { count: 77 },
      );
    },
  ],
  [
    'a webhook that is lost',
    'webhooks',
    (lines, random) => {
      remove(lines, random.pick(places(lines, 'webhook')));
    },
  ],
  [
    'a webhook that says the opposite',
    'webhooks',
    (lines, random) => {
      const at = random.pick(places(lines, 'webhook', ({ name }) => name.startsWith('member_')));
      const { name } = nth(lines, at, 'webhook');
      replace(lines, at, { name: name === 'member_added' ? 'member_removed' : 'member_added' });
    },
  ],
  [
    'a notification that is lost',
    'pushes',
    (lines, random) => {
      remove(lines, random.pick(places(lines, 'notified', ({ d }) => d === 'other')));
    },
  ],
  [
    'a doubled notification',
    'pushes',
    (lines, random) => {
      const at = random.pick(places(lines, 'notified'));
      insert(lines, at, lines[at] ?? {});
    },
  ],
  [
    'a user who got neither event nor notification',
    'live',
    (lines, random) => {
      const at = random.pick(places(lines, 'notified', ({ d }) => d !== 'other'));
      const { p, d, t } = nth(lines, at, 'notified');
      lines[at] = { op: 'explained', p, d, t, state: 'live-reached' };
    },
  ],
  [
    'a user who got both',
    'live',
    (lines, random) => {
      const at = random.pick(places(lines, 'explained'));
      const { p, d, t } = nth(lines, at, 'explained');
      lines[at] = { op: 'notified', p, d, t, result: 'accepted' };
    },
  ],
];

describe('a history with one change', () => {
  it.each(changes)('is broken: %s (%s)', (_, rule, change) => {
    for (let seed = 100; seed < 103; seed++) {
      const lines = rightHistory(seed, 800);
      change(lines, new Random(seed));
      expect([seed, brokenIn(judge(lines))]).toEqual([seed, expect.arrayContaining([rule])]);
    }
  });
});
