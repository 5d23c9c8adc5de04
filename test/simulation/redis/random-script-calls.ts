import type { RedisScript } from '../../../src/engines/redis/link/script.ts';
import { RELEASE } from '../../../src/engines/redis/scripts/claims.ts';
import { EVENTS, NUMBER_DIGITS, PUBLISH } from '../../../src/engines/redis/scripts/events.ts';
import { FORGET_APP } from '../../../src/engines/redis/scripts/forget-app.ts';
import {
  FORGET_HISTORY,
  READ_HISTORY,
  RULES,
} from '../../../src/engines/redis/scripts/histories.ts';
import { MOVED } from '../../../src/engines/redis/scripts/moved.ts';
import {
  CACHED,
  CHANNEL_COUNT,
  COUNTS,
  MEMBER,
  MEMBERS,
  MEMBERS_PAGE,
  NUMBERS,
  PAGE,
  ROSTER,
} from '../../../src/engines/redis/scripts/queries.ts';
import { ACTIVITY, HOLD, SERVERS, USE } from '../../../src/engines/redis/scripts/quotas.ts';
import { RECENT_OF_ALL, RECENT_OF_APPS } from '../../../src/engines/redis/scripts/recent-events.ts';
import {
  DEPARTED,
  ENTER,
  REPORTED,
  STATE,
  STATE_AGAIN,
} from '../../../src/engines/redis/scripts/statements.ts';
import { CLAIM, EXIT, SETTLE, TICK } from '../../../src/engines/redis/scripts/upkeep.ts';
import { SIGN, TERMINATE, USER_STATUSES, USERS } from '../../../src/engines/redis/scripts/users.ts';
import type { Random } from '../../../testing/random.ts';

/** The keys of the partition begin with it. */
const PARTITION = '{0}';

const TOPICS = ['a/news', 'a/presence-x', 'a/cache-z', 'b/news', 'b/presence-y'];
const USERS_TOPICS = ['a/#ann', 'b/#bob'];
const DAY = '2026-11-28';

/** The streams on which scripts publish. */
export const STREAMS = [...TOPICS, ...USERS_TOPICS].map((topic) => `${PARTITION}t:${topic}`);

export interface RandomScriptCall {
  readonly script: RedisScript;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

type Args = readonly (string | number)[];

/** Makes a random call of one of the scripts of the engine. */
export function randomScriptCall(random: Random): RandomScriptCall {
  const [script, argsOf] = random.pick(CALLS);
  // What claims begin with is all that `RELEASE` knows.
  const keys = script === RELEASE ? ['c'] : [PARTITION];
  return { script, keys, args: argsOf(random).map(String) };
}

const node = (r: Random) => r.pick(['2:n1', '2:n2', '2:n3', 'old']);
/** What most scripts begin with. */
const held = (r: Random) => [node(r), r.chance(0.02) ? 'other epoch' : 'epoch'];
const FLAGS = ['', 'w', 'wc', 'wcn', 'wk', 'wkm', 'w1', 'c2', 'w1g5', '0l1', 'w2g1l2L1'];
const topic = (r: Random) => r.pick(TOPICS);
const user = (r: Random) => r.pick(['ann', 'bob', 'zoë', 'a long name '.repeat(8)]);
const app = (r: Random) => r.pick(['a', 'b']);
const rules = (r: Random) => r.pick(['r1', 'r1', 'r1', 'r2']);
const id = (r: Random) => `${r.between(0, 9)}-${r.pick(['half', 'half', 'other'])}`;
const userFlags = (r: Random) => [
  r.pick(['', 'w', 'w', 'w0', '20000']),
  r.pick(['', '', '5000 0', '5000 20000']),
];
const number = (r: Random) => r.pick(['0', '1', '1790000000000000', '99999999999999999']);

const toRead = (r: Random) =>
  r.chance(0.4)
    ? ''
    : `${rules(r)} begin ${r.pick([60, 3600])} ${r.between(0, 5)} ${r.pick([50, 100_000])} ${r.pick(['stock', 'none', id(r), id(r)])}  1.1 `;
const toKeep = (r: Random) =>
  r.chance(0.3)
    ? ''
    : `${rules(r)} half begin 3600 ${r.between(1, 9)} ${r.pick([400, 100_000])} ${r.pick([0, 900])} ${r.pick([1500, 1_000_000])}`;
const members = (r: Random) =>
  Array.from({ length: r.between(0, 3) }, () =>
    r.chance(0.67)
      ? ['+', user(r), r.pick(['', '{"n":1}', `{"n":"${'x'.repeat(90)}"}`])]
      : ['-', user(r), r.pick(['', 500, 20_000])],
  ).flat();
const change = (r: Random, ofMember: string, ofChannel: string) =>
  r.chance(0.5) ? `${ofMember}${topic(r)}\n${user(r)}` : `${ofChannel}${topic(r)}`;
const ofUser = (r: Random, kind: 'u' | 'd') => `${kind}${r.pick(USERS_TOPICS)}`;
const departure = (r: Random) => (r.chance(0.3) ? ofUser(r, 'd') : change(r, 'r', 'v'));
const arrival = (r: Random) => (r.chance(0.3) ? ofUser(r, 'u') : change(r, 'a', 'o'));
/** An event that there may not be: its number begins with the time. */
const event = (r: Random) => change(r, `h${number(r)}\nr\n`, `h${number(r)}\nv\n`);
const remembered = (r: Random) =>
  r.chance(0.5)
    ? []
    : [
        app(r),
        'event',
        'd'.repeat(r.between(0, 60)),
        1_800_000,
        r.pick([2, 100]),
        r.pick([80, 9999]),
      ];

const CALLS: readonly (readonly [RedisScript, (random: Random) => Args])[] = [
  [
    ENTER,
    (r) => [node(r), 'epoch', r.chance(0.05) ? '1' : '', 'server', r.pick(['p1', 'p1', 'p2'])],
  ],
  [ENTER, (r) => [node(r), 'epoch', '', 'server', 'p1']],
  [STATE, state],
  [STATE, state],
  [STATE, state],
  [STATE, state],
  [STATE_AGAIN, stateAgain],
  [STATE_AGAIN, stateAgain],
  [SIGN, (r) => [...held(r), r.pick(USERS_TOPICS), r.pick(['0', '1']), ...userFlags(r)]],
  [SIGN, (r) => [...held(r), r.pick(USERS_TOPICS), r.pick(['0', '1']), ...userFlags(r)]],
  [
    SIGN,
    (r) => [
      ...[...held(r), r.pick(USERS_TOPICS), '1', ...userFlags(r)],
      ...[r.between(1, 3), r.pick([2, 3])],
    ],
  ],
  [TERMINATE, (r) => [...held(r), r.pick(USERS_TOPICS)]],
  [PUBLISH, publish],
  [PUBLISH, publish],
  [PUBLISH, publish],
  [EVENTS, events],
  [EVENTS, events],
  [RULES, (r) => [...held(r), 'a', rules(r), ...(r.chance(0.7) ? ['b', rules(r)] : [])]],
  [
    READ_HISTORY,
    (r) => [
      ...held(r),
      topic(r),
      rules(r),
      r.pick(['before', 'after', 'newest']),
      r.pick(['', id(r)]),
      r.between(1, 9),
      r.pick([10, 9999]),
      'half',
      3600,
    ],
  ],
  [FORGET_HISTORY, (r) => [...held(r), topic(r)]],
  [FORGET_APP, (r) => [app(r), DAY]],
  [RECENT_OF_APPS, (r) => [...held(r), 1, app(r), 0, r.between(0, 2), topic(r), number(r)]],
  [RECENT_OF_APPS, (r) => [...held(r), 2, 'a', r.between(0, 2), 0, 'b', 0, 0]],
  [RECENT_OF_ALL, (r) => [...held(r), 0, ...(r.chance(0.5) ? [topic(r), 0] : [])]],
  [ROSTER, (r) => [...held(r), topic(r)]],
  [MEMBERS, (r) => [...held(r), topic(r)]],
  [MEMBERS_PAGE, (r) => [...held(r), topic(r), r.between(0, 2), r.between(1, 3)]],
  [MEMBER, (r) => [...held(r), topic(r), user(r)]],
  [NUMBERS, (r) => [...held(r), ...TOPICS]],
  [COUNTS, (r) => [...held(r), topic(r)]],
  [CACHED, (r) => [...held(r), topic(r)]],
  [CHANNEL_COUNT, (r) => [...held(r), app(r)]],
  [PAGE, (r) => [...held(r), app(r), r.pick(['', 'pre']), r.between(0, 2), r.between(1, 3)]],
  [USERS, (r) => [...held(r), ...USERS_TOPICS]],
  [USER_STATUSES, (r) => [...held(r), ...USERS_TOPICS]],
  [
    HOLD,
    (r) => [
      ...held(r),
      ...[app(r), r.between(0, 2), r.between(0, 5), r.pick([0, 4]), r.between(0, 5)],
    ],
  ],
  [USE, (r) => [r.pick(['loop1', 'loop2']), r.between(1, 9), ...usage(r, 'a'), ...usage(r, 'b')]],
  [ACTIVITY, (r) => [...held(r), DAY, 'a', 'b']],
  [SERVERS, (r) => held(r)],
  [REPORTED, (r) => [...held(r), departure(r), r.pick([0, 5000])]],
  [
    DEPARTED,
    (r) => [...held(r), r.pick([0, 20_000]), departure(r), r.pick([0, 5000]), r.pick(['', '1'])],
  ],
  [CLAIM, (r) => [...held(r), ...(r.chance(0.5) ? [departure(r), arrival(r)] : [])]],
  [
    SETTLE,
    (r) => [r.pick([node(r), '']), ...Array.from({ length: r.between(0, 2) }, () => event(r))],
  ],
  [TICK, (r) => [...held(r), r.pick([0, 2, 100]), r.pick(['', '1'])]],
  [TICK, (r) => [...held(r), r.pick([2, 100]), '', node(r)]],
  [TICK, (r) => [...held(r), r.pick([0, 2, 100]), r.pick(['', '1'])]],
  [EXIT, (r) => [node(r)]],
  [RELEASE, (r) => [r.pick(['a', 'b']), '0']],
  [MOVED, (r) => [r.pick(['run', 'other run']), 'run']],
];

function state(r: Random): Args {
  const subscriptions = r.between(0, 3);
  const mode = r.pick(['', '', 'a0', 'a20000', 'k', 'r', 't', 'rt']);
  // Somebody new has a subscription, and comes in the first statement.
  const socket = subscriptions === 0 || mode === 'k' ? '' : r.pick(['', '1.1', '2.2']);
  return [
    ...held(r),
    topic(r),
    subscriptions,
    r.pick(FLAGS),
    mode,
    r.pick([0, 0, 2]),
    socket,
    toRead(r),
    ...members(r),
  ];
}

/** Each channel once. */
function stateAgain(r: Random): Args {
  const topics = TOPICS.filter(() => r.chance(0.4));
  const [some = TOPICS[0] ?? '', ...others] = topics;
  return [
    ...held(r),
    ...[some, ...others].flatMap((one) => {
      const stated = members(r);
      const mode = r.pick(['', 'a0', 'a20000', 'a0r', 'r', 't']);
      return [one, r.between(1, 3), r.pick(FLAGS), mode, stated.length / 3, ...stated];
    }),
  ];
}

function message(r: Random): string {
  const frame = `{"event":"e","data":"${'é'.repeat(r.between(0, 40))}"}`;
  return `e${r.pick(['', '1.1'])}\n\n${frame}`;
}

/** Groups of events, each of one app. */
function events(r: Random): Args {
  return Array.from({ length: r.between(1, 3) }, () => {
    const of = app(r);
    const some = Array.from({ length: r.between(1, 4) }, () => {
      const name = r.pick(TOPICS.filter((one) => one.startsWith(of)));
      const text = r.chance(0.05) ? message(r).repeat(200) : message(r);
      const kept = `${name.length}:${NUMBER_DIGITS + Buffer.byteLength(text)}:${name}`;
      return [`${PARTITION}T:${name}`, `${PARTITION}t:${name}`, kept, text];
    });
    return [PARTITION, of, some.length, ...some.flat()];
  }).flat();
}

function publish(r: Random): Args {
  return [
    ...held(r),
    topic(r),
    message(r),
    toKeep(r),
    r.chance(0.2) ? `key${r.between(1, 3)}` : '',
    ...remembered(r),
  ];
}

function usage(r: Random, of: string): Args {
  const amount = () => r.between(0, 4);
  return [
    of,
    DAY,
    amount(),
    amount(),
    amount(),
    amount(),
    r.between(0, 1),
    amount(),
    10,
    amount(),
    r.pick([0, 7]),
  ];
}
