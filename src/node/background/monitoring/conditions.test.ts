import { describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import type { MetricId } from '../../../observability/metrics-table.ts';
import type { EndpointHealth } from '../../../webhooks/sending/endpoint-health.ts';
import { Conditions, rules } from './conditions.ts';
import type { PausedGateway, Situation } from './rule.ts';
import type { Sample } from './samples.ts';

const NOW_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const GIB = 1_073_741_824;

type Values = Readonly<Partial<Record<MetricId, Readonly<Record<string, number>>>>>;

function sampleOf(values: Values): Sample {
  const metrics = new Map(
    Object.entries(values).map(([id, series]) => [
      id as MetricId,
      new Map(Object.entries(series ?? {})),
    ]),
  );
  return { atMs: NOW_MS, monotonicMs: 0, metrics, why: undefined };
}

const healthy = {
  faultsOfStore: new Map(),
  awayEngines: new Map(),
  silent: new Set<string>(),
  certificateFault: () => undefined,
  tlsFilesFault: () => undefined,
};

interface Given extends Partial<Omit<Situation, 'sample' | 'samples'>> {
  /** Gauges now. */
  readonly values?: Values;
  /** What counters have gone up by, over any time. */
  readonly increases?: Values;
}

/** A server that is well, but for what is given. */
function situation({ values = {}, increases = {}, ...given }: Given): Situation {
  const sample = sampleOf(values);
  return {
    nowMs: NOW_MS,
    sample,
    samples: {
      increase: (id, _overMs, label = '') => increases[id]?.[label] ?? 0,
      last: (count) => Array.from({ length: count }, () => sample),
    },
    readiness: healthy,
    endpoints: [],
    circuits: [],
    keySets: [],
    sources: [],
    quotas: [],
    unknownSettings: [],
    files: { used: 100, most: 1_000 },
    disk: { path: '/data', freeBytes: 50 * GIB, bytes: 100 * GIB },
    certificateEndsAtMs: NOW_MS + 60 * 86_400_000,
    ...given,
  };
}

const found = (given: Given) => new Conditions().check(situation(given)).conditions;

const endpoint = (more: Partial<EndpointHealth> = {}) => ({
  kind: 'channels' as const,
  ownerId: 'shop',
  url: 'https://user:geheim@api.shop.example/hook?token=geheim',
  endpoint: 'channels.a.b',
  delivered: 3,
  failed: 9,
  lastAtMs: NOW_MS - 1_000,
  lastOutcome: 'refused' as const,
  lastStatus: 503,
  lastAnswer: '',
  lastDeliveredAtMs: undefined,
  durations: [],
  failingSinceMs: NOW_MS - 5 * MINUTE_MS,
  waiting: 214,
  oldestWaitingAtMs: NOW_MS - 5 * MINUTE_MS,
  ...more,
});

const keySet = (more: Partial<Situation['keySets'][number]>) => ({
  appId: 'shop',
  url: 'https://login.example/jwks',
  failure: { why: 'HTTP 503', sinceMs: NOW_MS - MINUTE_MS },
  keys: undefined,
  ignored: [],
  untilMs: undefined,
  ...more,
});

const source = (more: Partial<Situation['sources'][number]>) => ({
  source: 0,
  url: 'postgres://***@db/shop',
  schema: 'fanfare',
  app: 'shop',
  instance: null,
  state: 'following' as const,
  lagSeconds: 30,
  waiting: 0,
  failed: 0,
  lastFailure: null,
  why: '',
  ...more,
});

const circuit = (more: Partial<PausedGateway> = {}): PausedGateway => ({
  instanceId: 'i-1',
  platform: 'fcm',
  why: 'credential',
  words: 'invalid_grant',
  sinceMs: NOW_MS - MINUTE_MS,
  ...more,
});

describe('a server that is well', () => {
  it('has no condition, and reports how many things were checked', () => {
    expect(new Conditions().check(situation({}))).toEqual({
      checkedAtMs: NOW_MS,
      checked: rules.length,
      conditions: [],
    });
    expect(found({ files: undefined, disk: undefined, certificateEndsAtMs: undefined })).toEqual(
      [],
    );
  });
});

/** What is found, and words of its text. */
const cases: readonly (readonly [id: string, level: 'bad' | 'warn', text: string, given: Given])[] =
  [
    [
      'store-away',
      'bad',
      'The store cannot be used: the disk is full.',
      {
        readiness: { ...healthy, faultsOfStore: new Map([['webhooks', 'the disk is full']]) },
      },
    ],
    [
      'engine-away',
      'bad',
      'Redis cannot be used: Redis a: refused.',
      {
        readiness: {
          ...healthy,
          awayEngines: new Map([['realtime', { sinceMs: NOW_MS - 7, why: 'Redis a: refused' }]]),
        },
      },
    ],
    [
      'loop-silent',
      'bad',
      'The realtime-1 loop does not answer.',
      {
        readiness: { ...healthy, silent: new Set(['realtime-1']) },
      },
    ],
    [
      'certificate-order',
      'bad',
      'There is no certificate yet.',
      {
        readiness: {
          ...healthy,
          certificateFault: () => ({ isMissing: true, text: 'There is no certificate yet.' }),
        },
      },
    ],
    [
      'certificate-order',
      'warn',
      'It was not renewed.',
      {
        readiness: {
          ...healthy,
          certificateFault: () => ({ isMissing: false, text: 'It was not renewed.' }),
        },
      },
    ],
    [
      'tls-files',
      'warn',
      'tls.certFile: /a is empty',
      {
        readiness: {
          ...healthy,
          tlsFilesFault: () => ({ why: 'tls.certFile: /a is empty', sinceMs: NOW_MS }),
        },
      },
    ],
    [
      'unknown-settings',
      'warn',
      'settings of app 3, and does not apply them: rooms, limits.rooms.',
      { unknownSettings: [{ noun: 'app', id: '3', settings: ['rooms', 'limits.rooms'] }] },
    ],
    ['engine-unsteady', 'warn', '4 times', { increases: { engineOutages: { '': 4 } } }],
    ['messages-unreadable', 'warn', '3 messages', { increases: { messagesUnreadable: { '': 3 } } }],
    [
      'engine-slow',
      'warn',
      'more than 100 ms',
      { increases: { engineAnswers: { '0.001': 980, '0.25': 20 } } },
    ],
    ['events-refused', 'bad', '3 events', { increases: { enginePublishesRefused: { '': 3 } } }],
    ['messages-missed', 'warn', '6 times', { increases: { engineGaps: { '': 6 } } }],
    ['events-lost', 'bad', 'may have missed', { increases: { engineLosses: { '': 1 } } }],
    ['server-fenced', 'warn', 'for dead', { increases: { engineLeasesLost: { '': 1 } } }],
    ['redis-data-lost', 'warn', 'was restarted', { increases: { engineDataLost: { '': 1 } } }],
    [
      'loop-late',
      'warn',
      'The realtime loop is late by up to 300 ms.',
      { values: { loopDelay: { realtime: 0.3, background: 0.01 } } },
    ],
    ['slow-clients', 'warn', '101 conn', { increases: { slowConnectionsClosed: { '': 101 } } }],
    [
      'unknown-key',
      'warn',
      '1 connection in',
      { increases: { connectionsRefused: { '4001': 1 } } },
    ],
    [
      'connections-refused',
      'warn',
      '101 connections were refused',
      { increases: { connectionsRefused: { '4100': 101 } } },
    ],
    [
      'webhook-fails',
      'bad',
      'Webhooks of app shop to https://***@api.shop.example/hook?token=*** fail: HTTP 503. 214 wait.',
      { endpoints: [endpoint()] },
    ],
    [
      'webhooks-late',
      'warn',
      'The oldest of 12 webhook requests has waited for 2 min.',
      { values: { outboxOldestAge: { '': 120 }, outboxRequests: { '': 12 } } },
    ],
    ['webhooks-dropped', 'bad', '5 webhook', { increases: { webhookEventsDropped: { '': 5 } } }],
    [
      'gateway',
      'bad',
      'Google (FCM) refuses the credential of instance i-1. Its devices wait. It says: invalid_grant',
      { circuits: [circuit()] },
    ],
    [
      'push-gave-way',
      'warn',
      '7 notifications were given up in ten minutes',
      { increases: { pushLeftOut: { 'gave-way': 7 } } },
    ],
    ['push-late', 'warn', 'waited for 61 s', { values: { pushLag: { '': 61 } } }],
    [
      'quota',
      'warn',
      'App shop has used 95 % of its 1000 messages',
      { quotas: [{ appId: 'shop', messages: 950, messagesPerDay: 1_000 }] },
    ],
    [
      'quota',
      'bad',
      'App shop has used its 1000 messages',
      { quotas: [{ appId: 'shop', messages: 1_000, messagesPerDay: 1_000 }] },
    ],
    [
      'key-set',
      'warn',
      'The key set of app shop at https://login.example/jwks cannot be fetched: HTTP 503. Its last keys are used for 23 h more.',
      { keySets: [keySet({ keys: [], untilMs: NOW_MS + 23 * 3_600_000 })] },
    ],
    [
      'source-away',
      'bad',
      'The database of source 0 (postgres://***@db/shop) cannot be used: no connection.',
      { sources: [source({ state: 'away', why: 'no connection', lagSeconds: 90 })] },
    ],
    [
      'source-late',
      'warn',
      'wait for more than 30 s: 403 The app is disabled.',
      { sources: [source({ lagSeconds: 31, why: '403 The app is disabled' })] },
    ],
    ['source-rows-failed', 'warn', 'can never be sent.', { sources: [source({ failed: 1 })] }],
    ['key-set', 'bad', 'Clients with its tokens are closed with 4100.', { keySets: [keySet({})] }],
    [
      'key-set',
      'bad',
      'has no key that can be used. What it has is ignored: private or secret; not for signatures.',
      {
        keySets: [
          keySet({
            failure: undefined,
            keys: [],
            ignored: ['private or secret', 'not for signatures'],
          }),
        ],
      },
    ],
    [
      'disk',
      'warn',
      '(/data) has 1000 MiB',
      { disk: { path: '/data', freeBytes: 1_000 * 1_048_576, bytes: 100 * GIB } },
    ],
    [
      'disk',
      'bad',
      'has 100 MiB',
      { disk: { path: '/data', freeBytes: 100 * 1_048_576, bytes: 100 * GIB } },
    ],
    ['open-files', 'warn', 'from 1000 on', { files: { used: 900, most: 1_000 } }],
    ['open-files', 'bad', 'are refused', { files: { used: 1_000, most: 1_000 } }],
    ['certificate', 'warn', 'ends in 3 days', { certificateEndsAtMs: NOW_MS + 3 * 86_400_000 }],
    ['certificate', 'bad', 'ended 5 min ago', { certificateEndsAtMs: NOW_MS - 5 * MINUTE_MS }],
    ['log-lines-dropped', 'warn', '9 lines', { increases: { logLinesDropped: { '': 9 } } }],
    [
      'wrong-passwords',
      'warn',
      '10 wrong',
      { increases: { adminRequestsRefused: { 'password-wrong': 10 } } },
    ],
  ];

describe('a condition', () => {
  it.each(cases)('%s (%s) says "%s"', (id, level, text, given) => {
    const conditions = found(given);
    expect(conditions).toMatchObject([{ id, level, text: expect.stringContaining(text) }]);
    expect(conditions[0]?.advice).not.toBe('');
    expect(JSON.stringify(conditions)).not.toContain('geheim');
  });

  it('is tested for each rule', () => {
    expect(new Set(cases.map(([id]) => id))).toEqual(new Set(rules.map(({ id }) => id)));
  });

  it('is there for each alert of docs/monitoring/alerts.yml', async () => {
    const file = join(import.meta.dir, '../../../../docs/monitoring/alerts.yml');
    const { groups } = Bun.YAML.parse(await Bun.file(file).text()) as {
      readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
    };
    const alerts = groups.flatMap((group) => group.rules.map(({ alert }) => alert));
    // A server cannot report that it is down.
    const own = alerts.filter((alert) => alert !== 'FanfareDown');
    expect(rules.flatMap(({ alert }) => alert ?? []).toSorted()).toEqual(own.toSorted());
  });

  it('counts from when it was found first, until it is over', () => {
    const conditions = new Conditions();
    const lost = { increases: { engineLosses: { '': 1 } } };
    const sinceMs = (nowMs: number, given: Given) =>
      conditions.check(situation({ nowMs, ...given })).conditions[0]?.sinceMs;
    expect(sinceMs(1_000, lost)).toBe(1_000);
    expect(sinceMs(2_000, lost)).toBe(1_000);
    expect(sinceMs(3_000, {})).toBeUndefined();
    expect(sinceMs(4_000, lost)).toBe(4_000);
  });

  it('comes before others if it is bad, and then if it is older', () => {
    const ids = found({
      circuits: [circuit()],
      files: { used: 900, most: 1_000 },
      endpoints: [endpoint()],
    }).map(({ id }) => id);
    expect(ids).toEqual(['webhook-fails', 'gateway', 'open-files']);
  });
});

describe('webhooks that fail', () => {
  it('are no condition in the first moments, nor once nobody tries any more', () => {
    expect(found({ endpoints: [endpoint({ failingSinceMs: NOW_MS - 1_000 })] })).toEqual([]);
    expect(found({ endpoints: [endpoint({ failingSinceMs: undefined })] })).toEqual([]);
    const over = { ...endpoint({ lastAtMs: NOW_MS - 11 * MINUTE_MS }), waiting: 0 };
    expect(found({ endpoints: [over] })).toEqual([]);
  });

  it('name 20 addresses at most, so that one app hides no other fault', () => {
    const endpoints = Array.from({ length: 50 }, (_, index) =>
      endpoint({ endpoint: `channels.a.${index}` }),
    );
    const conditions = found({ endpoints });
    expect(conditions).toHaveLength(21);
    expect(conditions.map(({ text }) => text)).toContain('30 more of the same kind.');
  });
});

describe('a gateway that is paused', () => {
  it('is one condition for all push services of an instance', () => {
    const web = { platform: 'web', why: 'gateway', words: '' } as const;
    expect(found({ circuits: [circuit(web), circuit(web), circuit()] })).toMatchObject([
      { level: 'bad', instance: 'i-1' },
      {
        level: 'warn',
        text: expect.stringContaining('A push service of browsers (2 of them) fails'),
      },
    ]);
  });

  it('is only a warning if no device was ever reached', () => {
    expect(found({ circuits: [circuit({ isUnproven: true })] })).toMatchObject([
      { level: 'warn', advice: expect.stringContaining('fakes') },
    ]);
  });
});
