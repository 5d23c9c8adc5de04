import { parameterOf } from '../../runtime/postgres-url.ts';
import { type ConfigProblem, pathText } from '../file/problems.ts';
import { entries, valueAt } from './unchecked.ts';

/** Finds settings of the links to Redis and PostgreSQL that contradict each other. */
export function linkProblems(content: unknown): readonly ConfigProblem[] {
  return [
    ...halfSetPairs(content),
    ...redisLinks(content),
    ...storeLink(content),
    ...sourceLinks(content),
  ];
}

const FILES = ['caFile', 'certFile', 'keyFile'] as const;

/** The groups with a certificate and its key. */
const PAIRS = [
  ['tls'],
  ['engine', 'tls'],
  ['engine', 'sentinels', 'tls'],
  ['store', 'tls'],
] as const;

function halfSetPairs(content: unknown): readonly ConfigProblem[] {
  return PAIRS.flatMap((group) =>
    (
      [
        ['certFile', 'keyFile'],
        ['keyFile', 'certFile'],
      ] as const
    )
      .filter(
        ([given, missing]) =>
          isSet(content, [...group, given]) && !isSet(content, [...group, missing]),
      )
      .map(([given, missing]) => ({
        path: [...group, missing].join('.'),
        message: `required if ${[...group, given].join('.')} is set`,
      })),
  );
}

function redisLinks(content: unknown): readonly ConfigProblem[] {
  if (valueAt(content, ['engine', 'type']) !== 'redis') return [];
  const listed = entries(content, ['engine', 'urls']).map(({ value }) => value);
  const urls = [valueAt(content, ['engine', 'url']), ...listed].map(String);
  const tls = FILES.map((name) => ['engine', 'tls', name]);
  const sentinelTls = FILES.map((name) => ['engine', 'sentinels', 'tls', name]);
  const login = ['user', 'password'].map((name) => ['engine', 'sentinels', name]);
  const clusters = listed.flatMap((url, index) =>
    /^rediss?\+cluster:/.test(String(url))
      ? [{ path: `engine.urls[${index}]`, message: 'a cluster is one address: set engine.url' }]
      : [],
  );
  const unless = (pattern: RegExp, paths: readonly string[][], message: string) =>
    urls.some((url) => pattern.test(url)) ? [] : setPaths(content, paths, message);
  return [
    ...clusters,
    ...unless(
      /^rediss/,
      tls,
      'is for TLS: the address of Redis must begin with rediss://, rediss+sentinel:// or rediss+cluster://',
    ),
    ...unless(
      /^rediss?\+sentinel:/,
      login,
      'is for sentinels: the address of Redis must begin with redis+sentinel:// or rediss+sentinel://',
    ),
    ...unless(
      /^rediss\+sentinel:/,
      sentinelTls,
      'is for sentinels with TLS: the address of Redis must begin with rediss+sentinel://',
    ),
    ...(isSet(content, ['engine', 'sentinels', 'user']) &&
    !isSet(content, ['engine', 'sentinels', 'password'])
      ? [
          {
            path: 'engine.sentinels.password',
            message: 'required if engine.sentinels.user is set',
          },
        ]
      : []),
  ];
}

/** What libpq and this server call the same. */
const IN_URL = { caFile: 'sslrootcert', certFile: 'sslcert', keyFile: 'sslkey' } as const;

function storeLink(content: unknown): readonly ConfigProblem[] {
  const url = String(valueAt(content, ['store', 'url']) ?? 'sqlite:');
  const paths = FILES.map((name) => ['store', 'tls', name]);
  if (!url.startsWith('postgres')) {
    return setPaths(content, paths, 'is for PostgreSQL, but store.url names a file of SQLite');
  }
  const twice = FILES.filter(
    (name) =>
      isSet(content, ['store', 'tls', name]) && parameterOf(url, IN_URL[name]) !== undefined,
  ).map((name) => ({
    path: `store.tls.${name}`,
    message: `cannot be set together with ${IN_URL[name]} in store.url`,
  }));
  const has = (name: (typeof FILES)[number]) =>
    isSet(content, ['store', 'tls', name]) || parameterOf(url, IN_URL[name]) !== undefined;
  return [
    ...twice,
    ...halfPair('store.url', url),
    ...modeProblems(parameterOf(url, 'sslmode'), has),
  ];
}

function sourceLinks(content: unknown): readonly ConfigProblem[] {
  return entries(content, ['sources']).flatMap(({ value, path }) => {
    const url = String(valueAt(value, ['url']) ?? '');
    const place = `${pathText(path)}.url`;
    const has = (name: (typeof FILES)[number]) => parameterOf(url, IN_URL[name]) !== undefined;
    const mode = modeProblems(parameterOf(url, 'sslmode'), has, place);
    return [...halfPair(place, url), ...mode];
  });
}

function halfPair(path: string, url: string): readonly ConfigProblem[] {
  const [cert, key] = ['sslcert' as const, 'sslkey' as const].map((name) => parameterOf(url, name));
  return (cert === undefined) === (key === undefined)
    ? []
    : [{ path, message: 'needs both sslcert and sslkey, or neither' }];
}

/** Authorities that are not asked for would give a false sense of safety, and so would files without TLS. */
function modeProblems(
  mode: string | undefined,
  has: (name: (typeof FILES)[number]) => boolean,
  path = 'store.url',
): readonly ConfigProblem[] {
  // Only the store has settings beside the parameters of its address.
  const [ca, cert] =
    path === 'store.url'
      ? ['store.tls.caFile (sslrootcert)', 'store.tls.certFile (sslcert)']
      : ['sslrootcert', 'sslcert'];
  if (has('caFile') && !/^verify-(?:ca|full)$/.test(mode ?? '')) {
    return [
      {
        path,
        message: `needs ?sslmode=verify-full: with ${mode ?? 'none'}, the authorities of ${ca} would not be checked`,
      },
    ];
  }
  if (has('certFile') && !/^(?:require|verify-ca|verify-full)$/.test(mode ?? '')) {
    return [
      {
        path,
        message: `needs ?sslmode=verify-full for the certificate of ${cert}`,
      },
    ];
  }
  return [];
}

function setPaths(
  content: unknown,
  paths: readonly (readonly string[])[],
  message: string,
): readonly ConfigProblem[] {
  return paths
    .filter((path) => isSet(content, path))
    .map((path) => ({ path: path.join('.'), message }));
}

function isSet(content: unknown, path: readonly string[]): boolean {
  return (valueAt(content, path) ?? null) !== null;
}
