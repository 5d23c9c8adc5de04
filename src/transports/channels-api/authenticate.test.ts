import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { appSettings } from '../../config/settings/channels-settings.ts';
import { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import { requestTarget } from '../request-target.ts';
import { type Authenticated, authenticate, refuseBody } from './authenticate.ts';
import {
  authParameters,
  type Given,
  hmacHex,
  md5Hex,
  type Style,
  signedQuery,
  styles,
} from './library-signing.fixture.ts';
import { ApiRefusal } from './problems.ts';

/** The app, the request and the signature that Pusher's documentation works through. Source: §14.1. */
const KEY = '278d425bdf160c739803';
const SECRET = '7ad3773142a6692b25b8';
const WORKED_AT_MS = 1_353_088_179_000;
const WORKED_BODY = '{"name":"foo","channels":["project-3"],"data":"{\\"some\\":\\"data\\"}"}';
const WORKED_SIGNATURE = 'da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c';
const WORKED_QUERY = `auth_key=${KEY}&auth_timestamp=1353088179&auth_version=1.0&body_md5=ec365a775a4cd0599faeb73354201b6f`;

const apps = new MemoryAppDirectory();
apps.replace([
  appSettings.parse({
    id: '3',
    keys: [
      { key: KEY, secret: SECRET },
      { key: 'second', secret: 'second-secret' },
    ],
  }),
  appSettings.parse({ id: '4', keys: [{ key: 'other', secret: 'other-secret' }] }),
]);

interface Sent {
  readonly method?: string;
  readonly appId?: string;
  readonly target: string;
  readonly pathPrefix?: string;
  readonly body?: string | Uint8Array;
  readonly nowMs?: number;
}

function ask(sent: Sent): Authenticated | ApiRefusal {
  const { method = 'POST', appId = '3', target, pathPrefix = '', nowMs = WORKED_AT_MS } = sent;
  const request = { method, target: requestTarget(target), pathPrefix };
  const known = authenticate(apps, { appId, ...request }, nowMs);
  if (known instanceof ApiRefusal) return known;
  return refuseBody(known.parameters, Buffer.from(sent.body ?? '')) ?? known;
}

/** The words of a refusal, or `accepted`. */
function verdict(sent: Sent): string {
  const answer = ask(sent);
  if (!(answer instanceof ApiRefusal)) return 'accepted';
  expect(answer.problem).toBe('unauthenticated');
  return answer.text;
}

/** A request that is signed as it is sent: its parameters are written in the order in which they are signed. */
function signedGet(query: string, secret = SECRET, path = '/apps/3/channels'): Sent {
  const signature = hmacHex(secret, `GET\n${path}\n${query}`);
  return { method: 'GET', target: `${path}?${query}&auth_signature=${signature}` };
}

const authQuery = (over: Readonly<Record<string, string>> = {}) =>
  Object.entries({ auth_key: KEY, auth_timestamp: '1353088179', auth_version: '1.0', ...over })
    .map((pair) => pair.join('='))
    .join('&');

describe('the worked example of the documentation', () => {
  const worked: Sent = {
    target: `/apps/3/events?${WORKED_QUERY}&auth_signature=${WORKED_SIGNATURE}`,
    body: WORKED_BODY,
  };

  it('is accepted', () => {
    const answer = ask(worked);
    expect(answer).not.toBeInstanceOf(ApiRefusal);
    expect(answer).toMatchObject({ app: { id: '3' } });
  });

  it('is accepted in any order, with keys in any case', () => {
    const [key, time, version, md5] = WORKED_QUERY.split('&');
    const query = [`auth_signature=${WORKED_SIGNATURE}`, md5, version, time, key].join('&');
    expect(verdict({ ...worked, target: `/apps/3/events?${query}` })).toBe('accepted');
    const shouted = query.replaceAll(/[a-z_0-9]+=/g, (name) => name.toUpperCase());
    expect(verdict({ ...worked, target: `/apps/3/events?${shouted}` })).toBe('accepted');
  });

  it('is refused with another body, method, path, app or time', () => {
    expect(verdict({ ...worked, body: `${WORKED_BODY} ` })).toStartWith('Invalid body_md5');
    expect(verdict({ ...worked, method: 'PUT' })).toStartWith('Invalid signature');
    expect(
      verdict({ ...worked, target: worked.target.replace('/events', '/batch_events') }),
    ).toStartWith('Invalid signature');
    expect(verdict({ ...worked, appId: '4' })).toBe('Unknown auth_key');
    expect(
      verdict({ ...worked, target: worked.target.replace('1353088179', '1353088180') }),
    ).toStartWith('Invalid signature');
  });

  it('shows the text that should have been signed', () => {
    const target = worked.target.replace(WORKED_SIGNATURE, 'nonsense"');
    expect(verdict({ ...worked, target })).toBe(
      `Invalid signature: you should have sent HmacSHA256Hex("POST\\n/apps/3/events\\n${WORKED_QUERY}", your_secret_key), but you sent "nonsense\\""`,
    );
  });
});

describe('a request is refused', () => {
  const cases: readonly (readonly [when: string, query: string, text: string])[] = [
    ['without a query', '', 'Missing parameter: auth_key'],
    ['without a key', 'auth_timestamp=1353088179&auth_version=1.0', 'Missing parameter: auth_key'],
    ['with an unknown key', authQuery({ auth_key: 'x' }), 'Unknown auth_key'],
    ['with an empty key', authQuery({ auth_key: '' }), 'Unknown auth_key'],
    ['with the key of another app', authQuery({ auth_key: 'other' }), 'Unknown auth_key'],
    ['with a key in another case', authQuery({ auth_key: KEY.toUpperCase() }), 'Unknown auth_key'],
    [
      'with a key like a part of every object',
      authQuery({ auth_key: '__proto__' }),
      'Unknown auth_key',
    ],
    ['without a version', `auth_key=${KEY}&auth_timestamp=1353088179`, 'Version required'],
    ['with version 1', authQuery({ auth_version: '1' }), 'Version not supported'],
    ['with version 1.00', authQuery({ auth_version: '1.00' }), 'Version not supported'],
    ['with version 2.0', authQuery({ auth_version: '2.0' }), 'Version not supported'],
    ['with an empty version', authQuery({ auth_version: '' }), 'Version not supported'],
    ['without a timestamp', `auth_key=${KEY}&auth_version=1.0`, 'Timestamp required'],
    [
      'with a timestamp of 1970',
      authQuery({ auth_timestamp: '0' }),
      'Timestamp expired: Given timestamp (1970-01-01T00:00:00Z) not within 600s of server time (2012-11-16T17:49:39Z)',
    ],
    [
      'with a timestamp of milliseconds',
      authQuery({ auth_timestamp: '135308817900' }),
      'Timestamp expired: Given timestamp (6257-10-07T06:45:00Z) not within 600s of server time (2012-11-16T17:49:39Z)',
    ],
    ...[
      '',
      'x',
      '1353088179.0',
      '1353088179.5',
      '1e9',
      '0x50A67B73',
      '-1353088179',
      ' 1353088179',
      '1353088179 ',
      'NaN',
      'Infinity',
      '9'.repeat(30),
    ].map(
      (auth_timestamp) =>
        [
          `with the timestamp "${auth_timestamp}"`,
          authQuery({ auth_timestamp }),
          'Timestamp required: auth_timestamp must be an integer, in seconds',
        ] as const,
    ),
  ];
  it.each(cases)('%s', (_, query, text) => {
    expect(verdict(signedGet(query))).toBe(text);
  });

  it('without a signature', () => {
    expect(verdict({ method: 'GET', target: `/apps/3/channels?${authQuery()}` })).toBe(
      'Missing parameter: auth_signature',
    );
  });

  it('with a signature that is empty, cut, longer, or made with another secret', () => {
    const { target } = signedGet(authQuery());
    const wrong = [
      target.slice(0, -64),
      target.slice(0, -1),
      `${target}0`,
      signedGet(authQuery(), 'other-secret').target,
      signedGet(authQuery(), 'second-secret').target,
      signedGet(authQuery(), '').target,
    ];
    for (const changed of wrong) {
      expect(verdict({ method: 'GET', target: changed })).toStartWith(
        'Invalid signature: you should have sent HmacSHA256Hex("GET\\n/apps/3/channels\\nauth_key=',
      );
    }
    expect(verdict({ method: 'GET', target })).toBe('accepted');
  });
});

describe('the clock of a request', () => {
  const at = (seconds: number, nowMs = WORKED_AT_MS) =>
    verdict({ ...signedGet(authQuery({ auth_timestamp: String(seconds) })), nowMs });

  it.each([0, 1, 500, 999])('may be 599 seconds off, and not 600, %d ms into a second', (ms) => {
    const nowMs = WORKED_AT_MS + ms;
    for (const off of [-599, -1, 0, 1, 599])
      expect(at(1_353_088_179 + off, nowMs)).toBe('accepted');
    for (const off of [-601, -600, 600, 601]) {
      expect(at(1_353_088_179 + off, nowMs)).toStartWith('Timestamp expired: Given timestamp (');
    }
  });

  it('is shown as a date, and so is that of the server', () => {
    expect(at(1_353_089_779, WORKED_AT_MS + 999)).toBe(
      'Timestamp expired: Given timestamp (2012-11-16T18:16:19Z) not within 600s of server time (2012-11-16T17:49:39Z)',
    );
  });
});

describe('body_md5', () => {
  const post = (body: string, given: readonly Given[]): Sent => {
    const query = [...authParameters(KEY, 1_353_088_179), ...given];
    const style = styles[0] as Style;
    const path = '/apps/3/events';
    return { target: `${path}?${signedQuery(style, SECRET, 'POST', path, query)}`, body };
  };

  it('is required if there is a body', () => {
    expect(verdict(post('{}', []))).toBe(
      'Missing parameter: body_md5 is required when the body is not empty',
    );
    expect(verdict(post(' ', []))).toStartWith('Missing parameter: body_md5');
  });

  it('may be missing without a body, or be that of an empty one, also on GET', () => {
    expect(verdict(post('', []))).toBe('accepted');
    expect(verdict(post('', [['body_md5', 'd41d8cd98f00b204e9800998ecf8427e']]))).toBe('accepted');
    expect(verdict(signedGet(authQuery({ body_md5: 'd41d8cd98f00b204e9800998ecf8427e' })))).toBe(
      'accepted',
    );
  });

  it('must be that of the body, to the byte, though it is signed', () => {
    for (const md5 of [
      '',
      'x',
      md5Hex('{ }'),
      md5Hex(''),
      `${md5Hex('{}')}0`,
      md5Hex('{}').slice(1),
    ]) {
      expect(verdict(post('{}', [['body_md5', md5]]))).toStartWith('Invalid body_md5');
    }
    expect(verdict(post('{}', [['body_md5', md5Hex('{}')]]))).toBe('accepted');
  });

  it('may be written in capitals', () => {
    expect(verdict(post('{}', [['body_md5', md5Hex('{}').toUpperCase()]]))).toBe('accepted');
  });

  it('is that of the bytes, whether they are text or not', () => {
    const body = new Uint8Array([0xff, 0, 0xfe]);
    const query = authParameters(KEY, 1_353_088_179, body);
    const target = `/apps/3/events?${signedQuery(styles[0] as Style, SECRET, 'POST', '/apps/3/events', query)}`;
    expect(verdict({ target, body })).toBe('accepted');
  });
});

describe('the keys of an app', () => {
  it('sign with their own secrets, all of them', () => {
    expect(verdict(signedGet(authQuery({ auth_key: 'second' }), 'second-secret'))).toBe('accepted');
    expect(verdict(signedGet(authQuery(), SECRET))).toBe('accepted');
    expect(verdict(signedGet(authQuery({ auth_key: 'second' }), SECRET))).toStartWith(
      'Invalid signature',
    );
  });
});

describe('a query that is not escaped', () => {
  it.each(['#,;@', 'a#b', '"{}|', 'é', '100%', '%zz', 'a=b=c', '?', '/', '[]'])(
    'is signed as it is read: %s',
    (value) => {
      expect(verdict(signedGet(authQuery({ filter_by_prefix: value })))).toBe('accepted');
    },
  );

  it('may use a plus sign as a plus sign or as a space', () => {
    const query = authQuery({ name: 'a+b c' });
    const { target } = signedGet(query);
    const meant = ask({ method: 'GET', target: target.replace('b c', 'b%20c') });
    expect(meant).toMatchObject({
      parameters: expect.arrayContaining([{ name: 'name', value: 'a+b c' }]),
    });

    const spaces = signedGet(authQuery({ name: 'a b+c' })).target;
    const formEncoded = spaces.replace('a b+c', 'a+b%2Bc');
    expect(ask({ method: 'GET', target: formEncoded })).toMatchObject({
      parameters: expect.arrayContaining([{ name: 'name', value: 'a b+c' }]),
    });
  });

  it('may hold a parameter without a value, and superfluous ampersands', () => {
    const signature = hmacHex(SECRET, `GET\n/apps/3/channels\n${authQuery({ info: '' })}`);
    for (const info of ['info', 'info=']) {
      const target = `/apps/3/channels?&${info}&&${authQuery()}&auth_signature=${signature}&`;
      expect(verdict({ method: 'GET', target })).toBe('accepted');
    }
  });
});

describe('a server behind a path prefix', () => {
  const sent = (signedPath: string, sentPath: string): Sent => {
    const signature = hmacHex(SECRET, `GET\n${signedPath}\n${authQuery()}`);
    return {
      method: 'GET',
      target: `${sentPath}?${authQuery()}&auth_signature=${signature}`,
      pathPrefix: '/ws/v1',
    };
  };

  it('accepts a signature over the path with it and without it', () => {
    expect(verdict(sent('/ws/v1/apps/3/channels', '/ws/v1/apps/3/channels'))).toBe('accepted');
    expect(verdict(sent('/apps/3/channels', '/ws/v1/apps/3/channels'))).toBe('accepted');
  });

  it('accepts both if a proxy has removed it', () => {
    expect(verdict(sent('/ws/v1/apps/3/channels', '/apps/3/channels'))).toBe('accepted');
    expect(verdict(sent('/apps/3/channels', '/apps/3/channels'))).toBe('accepted');
  });

  it('accepts no other path', () => {
    for (const path of ['/ws/apps/3/channels', '/channels', '/v1/apps/3/channels', '/apps/3']) {
      expect(verdict(sent(path, '/ws/v1/apps/3/channels'))).toStartWith('Invalid signature');
    }
  });
});

/** A parameter's name as it can stand beside those of the signature. */
const names = fc
  .string({ unit: anyCharacter, minLength: 1, maxLength: 12 })
  .filter((name) => !/\]$|^auth_|^body_md5$/i.test(name));
const texts = fc.string({ unit: anyCharacter, maxLength: 12 });
const givens: fc.Arbitrary<readonly Given[]> = fc.uniqueArray(
  fc.tuple(names, fc.oneof(texts, fc.array(texts, { minLength: 1, maxLength: 4 }))),
  { selector: ([name]) => name.toLowerCase(), maxLength: 6 },
);
const requests = fc.record({
  method: fc.constantFrom('GET', 'POST'),
  path: fc.webPath().map((path) => `/apps/3${path}`),
  query: givens,
  body: fc.uint8Array({ maxLength: 50 }),
  style: fc.constantFrom(...styles),
  nowMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
});

describe('any request', () => {
  it('is accepted as a library signs it', () => {
    fc.assert(
      fc.property(requests, ({ method, path, query, body, style, nowMs }) => {
        const auth = authParameters(KEY, Math.floor(nowMs / 1000), body);
        const sent = signedQuery(style, SECRET, method, path, [...query, ...auth]);
        expect(verdict({ method, target: `${path}?${sent}`, body, nowMs })).toBe('accepted');
      }),
      { numRuns: 500 },
    );
  });

  it('is refused if one character differs from what was signed', () => {
    const changes = fc.record({
      part: fc.constantFrom('method', 'path', 'name', 'value', 'body', 'signature'),
      at: fc.nat(),
      to: fc.constantFrom('q', '7', '-'),
    });
    const change = (text: string, at: number, to: string) => {
      const where = at % Math.max(text.length, 1);
      const other = text[where]?.toLowerCase() === to ? 'x' : to;
      return text.slice(0, where) + other + text.slice(where + 1);
    };
    fc.assert(
      fc.property(requests, changes, ({ method, path, query, body, style, nowMs }, where) => {
        // ASCII only: half of a character beyond it cannot be sent.
        const ascii = query.map(
          ([name]) => [`p${Buffer.from(name).toString('hex')}`, 'v1'] as const,
        );
        const auth = authParameters(KEY, Math.floor(nowMs / 1000), body);
        const signed: readonly Given[] = [...ascii, ...auth];
        const text = `${method}\n${path}\n${style.signed(signed)}`;
        const signature = hmacHex(SECRET, text);

        const { part, at, to } = where;
        const sent = signed.map(([name, value], index): Given => {
          if (index !== at % signed.length) return [name, value];
          if (part === 'name') return [change(name, at, to), value];
          return part === 'value' ? [name, change(String(value), at, to)] : [name, value];
        });
        const [sentMethod, sentPath, sentSignature] = [
          part === 'method' ? change(method, at, to) : method,
          part === 'path' ? `/apps/3/${change(path.slice(8), at, to)}` : path,
          part === 'signature' ? change(signature, at, to) : signature,
        ];
        const sentBody = Buffer.from(body);
        if (part === 'body') {
          if (body.length === 0) return;
          sentBody[at % body.length] = (sentBody[at % body.length] ?? 0) ^ (1 << (at % 8));
        }
        if (sentPath === path && part === 'path') return;
        const target = `${sentPath}?${style.sent(sent)}&auth_signature=${sentSignature}`;
        expect(verdict({ method: sentMethod, target, body: sentBody, nowMs })).not.toBe('accepted');
      }),
      { numRuns: 1000 },
    );
  });

  it('gets an answer, whatever its target is', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.uint8Array(), (text, body) => {
        expect(verdict({ target: `/apps/3/events?${text}`, body })).not.toBe('accepted');
        expect(verdict({ target: `/apps/3/events?auth_key=${KEY}&${text}`, body })).toBeString();
      }),
    );
  });
});

describe('a query with many parameters', () => {
  const withMore = (count: number) => {
    const more = Array.from({ length: count }, (_, n) => `x${String(n).padStart(4, '0')}=1`);
    return signedGet([authQuery(), ...more].join('&'));
  };

  it('is read up to 128 of them', () => {
    expect(verdict(withMore(124))).toBe('accepted');
    const refused = ask(withMore(125));
    expect(refused instanceof ApiRefusal && [refused.problem, refused.text]).toEqual([
      'invalid',
      'Too many query parameters: at most 128 are allowed',
    ]);
  });

  it('is refused before it is read, whatever its parameters are', () => {
    for (const parameter of ['a[]', '&', 'a[0]=+', '%5B%5D']) {
      const target = `/apps/3/channels?auth_key=${KEY}&+&${`${parameter}&`.repeat(3900)}`;
      const refused = ask({ method: 'GET', target });
      expect(refused instanceof ApiRefusal && refused.problem).toBe('invalid');
    }
  });
});
