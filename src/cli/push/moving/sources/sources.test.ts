import { afterAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordsOf } from './csv.ts';
import type { SourceOptions, SourceRow } from './source-row.ts';
import { type SourceName, sourceOf, sources } from './sources.ts';
import { linesOf, RECORD_LENGTH_MAX, textOf } from './text-source.ts';

const directory = mkdtempSync(join(tmpdir(), 'fanfare-sources-'));
afterAll(() => rmSync(directory, { recursive: true }));

async function* pieces(...texts: readonly string[]) {
  yield* texts;
}

/** A text in pieces of one character, where every place is a border. */
async function* characters(text: string) {
  yield* text;
}

async function read(
  from: SourceName,
  text: string,
  options: Partial<SourceOptions> = {},
): Promise<SourceRow[]> {
  const all = { bundle: undefined, tags: false, ...options };
  return await Array.fromAsync(sources[from](characters(text), all));
}

const device = (row: object) => ({ is: 'device', row });

describe('comma-separated values', () => {
  const records = (...texts: readonly string[]) => Array.fromAsync(recordsOf(pieces(...texts)));

  it.each([
    [
      'a,b\nc,d\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a,b\r\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['"a,1","b ""x"""\n', [['a,1', 'b "x"']]],
    ['"two\nlines",b\n', [['two\nlines', 'b']]],
    [
      'a,\n\n,b\n',
      [
        ['a', ''],
        ['', 'b'],
      ],
    ],
    ['"",""\n', [['', '']]],
    ['a"b,c\n', [['a"b', 'c']]],
    ['', []],
  ])('%j are read, wherever they are cut', async (text, expected) => {
    expect(await records(text)).toEqual(expected);
    expect(await Array.fromAsync(recordsOf(characters(text)))).toEqual(expected);
  });

  it('have no quote without an end, and no endless record', async () => {
    expect(records('a\n"b,c\n')).rejects.toThrow('record 2 has a quote that does not end');
    expect(records('a\n"', 'x'.repeat(RECORD_LENGTH_MAX))).rejects.toThrow(
      'record 2 has more than 1048576 characters: a quote may be missing',
    );
  });
});

describe('a file', () => {
  const file = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const text = async (name: string) => (await Array.fromAsync(textOf(name))).join('');

  it('may be packed by gzip, whatever its name', async () => {
    const long = 'zeile ü\n'.repeat(100_000);
    expect(await text(file('plain', long))).toBe(long);
    expect(await text(file('packed', Bun.gzipSync(Buffer.from(long))))).toBe(long);
    expect(await text(file('mark', '\uFEFFa'))).toBe('a');
    expect(await text(file('empty', ''))).toBe('');
  });

  it('is refused with the reason', async () => {
    const packed = Bun.gzipSync(Buffer.from('x'.repeat(10_000)));
    const notText = 'is neither text in UTF-8 nor such text packed by gzip';
    await expect(text(join(directory, 'missing'))).rejects.toThrow('does not exist');
    await expect(text(file('latin1', Buffer.from([0x61, 0xe4, 0x62])))).rejects.toThrow(notText);
    await expect(text(file('cut', packed.slice(0, 20)))).rejects.toThrow(notText);
  });

  it('has lines that end in either way', async () => {
    const lines = (...texts: readonly string[]) => Array.fromAsync(linesOf(pieces(...texts)));
    expect(await lines('a\nb\r', '\n\nc')).toEqual(['a', 'b', '', 'c']);
    expect(lines('a\n', 'x'.repeat(RECORD_LENGTH_MAX + 1))).rejects.toThrow(
      'line 2 has more than 1048576 characters',
    );
  });

  it('says by its name that it is an export', () => {
    expect(sourceOf('a/devices.ndjson')).toBe('fanfare');
    expect(sourceOf('devices.NDJSON.gz')).toBe('fanfare');
    expect(() => sourceOf('devices.csv')).toThrow(
      '--from is missing: one of fanfare, onesignal, fcm, apns, webpush',
    );
  });
});

describe('an export', () => {
  it('is read line by line, without what only an export says', async () => {
    const row = { platform: 'fcm', token: 't', interests: ['a'] };
    const exported = { ...row, id: 'fcm-1', registeredAt: '2026-11-29T00:00:00Z', import: 'x' };
    const text = `${JSON.stringify(exported)}\n\nno json\n[]\n${JSON.stringify(row)}`;
    const refused = { is: 'refused', field: '', reason: 'must be a JSON object on one line' };
    expect(await read('fanfare', text)).toEqual([
      device(row),
      refused,
      refused,
      device(row),
    ] as never);
  });
});

describe('tokens', () => {
  it('are read one per line', async () => {
    expect(await read('fcm', 'one\ntwo\n\n')).toEqual([
      device({ platform: 'fcm', token: 'one' }),
      device({ platform: 'fcm', token: 'two' }),
    ] as never);
    expect(await read('apns', 'ab\n', { bundle: 'com.example.app' })).toEqual([
      device({ platform: 'apns', token: 'ab', bundleId: 'com.example.app' }),
    ] as never);
  });

  it('are read from a table', async () => {
    const text =
      'userId,token,interests,language,timeZone\nann,t,"a,b c",de,Europe/Berlin\n,u,,,\n,v';
    expect(await read('fcm', text)).toEqual([
      device({
        platform: 'fcm',
        token: 't',
        userId: 'ann',
        interests: ['a,b', 'c'],
        language: 'de',
        timeZone: 'Europe/Berlin',
      }),
      device({ platform: 'fcm', token: 'u' }),
      device({ platform: 'fcm', token: 'v' }),
    ] as never);
  });

  it('are refused without names of columns, and with others', async () => {
    expect(read('fcm', 'a,b\n')).rejects.toThrow('the first line must name the columns');
    expect(read('fcm', 'token,name\n')).rejects.toThrow('the column "name" is unknown');
    expect(await read('fcm', 'token\na,b\n')).toMatchObject([{ is: 'refused' }]);
  });
});

describe('an export of OneSignal', () => {
  const head =
    'id,identifier,language,device_type,tags,invalid_identifier,external_user_id,web_auth,web_p256,timezone_id,notification_types\n';

  it('is read', async () => {
    const rows = [
      '1,aabb,en,0,"{""plan"":""gold"",""n"":2}",f,ann,,,Europe/Berlin,1',
      '2,token,,1,,false,,,,,7',
      '3,https://push.example/x,de,5,,,bob,AUTH,KEY,,1',
    ];
    const options = { bundle: 'com.example.app', tags: true };
    expect(await read('onesignal', head + rows.join('\n'), options)).toEqual([
      device({
        platform: 'apns',
        token: 'aabb',
        bundleId: 'com.example.app',
        userId: 'ann',
        language: 'en',
        timeZone: 'Europe/Berlin',
        interests: ['plan=gold', 'n=2'],
      }),
      device({ platform: 'fcm', token: 'token' }),
      device({
        platform: 'web',
        token: { endpoint: 'https://push.example/x', keys: { p256dh: 'KEY', auth: 'AUTH' } },
        userId: 'bob',
        language: 'de',
      }),
    ] as never);
    const [untagged] = await read('onesignal', head + rows[0]);
    expect(untagged).not.toHaveProperty('row.interests');
  });

  it.each(['8', '12', '17'])('has browsers of type %s', async (type) => {
    const rows = await read('onesignal', `${head}1,https://a/,,${type},,,,A,K,,1`);
    expect(rows).toMatchObject([device({ platform: 'web' })] as never);
  });

  it.each([
    ['1,t,,1,,,,,,,-2', { is: 'unsubscribed' }],
    ['1,t,,1,,,,,,,0', { is: 'unsubscribed' }],
    ['1,t,,1,,t,,,,,1', { is: 'unsubscribed' }],
    ['1,t,,1,,true,,,,,1', { is: 'unsubscribed' }],
    ['1,t,,7,,,,,,,1', { is: 'refused', field: 'device_type' }],
    ['1,t,,11,,,,,,,1', { is: 'refused', field: 'device_type' }],
    ['1,t,,1,,,,,,,', { is: 'device' }],
  ])('says with %j what is no device', async (row, expected) => {
    expect(await read('onesignal', head + row)).toMatchObject([expected] as never);
  });

  it('is refused if it is another file', async () => {
    expect(read('onesignal', 'token,userId\na,b\n')).rejects.toThrow(
      'the first line names no column "identifier"',
    );
  });
});

describe('push subscriptions', () => {
  it('are read alone and with more', async () => {
    const subscription = { endpoint: 'https://a/', keys: { p256dh: 'K', auth: 'A' } };
    const more = { subscription, userId: 'ann', interests: ['a'] };
    const text = `${JSON.stringify(subscription)}\n${JSON.stringify(more)}\n{"subscription":1}`;
    expect(await read('webpush', text)).toEqual([
      device({ platform: 'web', token: subscription }),
      device({ platform: 'web', token: subscription, userId: 'ann', interests: ['a'] }),
      { is: 'refused', field: 'subscription', reason: 'must be an object' },
    ] as never);
  });
});
