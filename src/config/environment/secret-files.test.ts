import { describe, expect, it } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { app, configIn, load, loadJson, problemsIn, workingDirectory } from '../loading.fixture.ts';

/** A path outside of the working directory of the configuration. */
function secretFile(text: string | Uint8Array) {
  const directory = workingDirectory({});
  const path = join(directory.path, 'secret');
  writeFileSync(path, text);
  return { path, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

describe('a variable that names the file of a secret', () => {
  it.each([
    ['p\n', 'p'],
    ['p\r\n', 'p'],
    ['two words\n', 'two words'],
  ])('has the text of the file as its value, without the last line break: %j', (text, password) => {
    using file = secretFile(text);
    const loaded = load({}, { FANFARE_ADMIN_PASSWORD_FILE: file.path });

    expect(configIn(loaded).admin.password).toBe(password);
  });

  it('must not have other white space around it', () => {
    using file = secretFile('p\n\n');
    expect(problemsIn(load({}, { FANFARE_ADMIN_PASSWORD_FILE: file.path }))).toEqual([
      'FANFARE_ADMIN_PASSWORD_FILE (admin.password): ends in "\\n", which nobody sees: remove it',
    ]);
  });

  it('works for the store and for Redis, too, and over the file', () => {
    using store = secretFile('postgres://u:p@db/fanfare\n');
    using redis = secretFile('redis://a\nredis://b\n');
    const content = { engine: { type: 'redis' }, store: { url: 'sqlite:other.db' } };
    const loaded = loadJson(content, {
      FANFARE_STORE_URL_FILE: store.path,
      FANFARE_ENGINE_URLS_FILE: redis.path,
    });

    expect(configIn(loaded)).toMatchObject({
      store: { url: 'postgres://u:p@db/fanfare' },
      engine: { urls: ['redis://a', 'redis://b'] },
    });
  });

  it('cannot be set together with the variable of the value', () => {
    using file = secretFile('p');
    const environment = { FANFARE_ADMIN_PASSWORD_FILE: file.path, FANFARE_ADMIN_PASSWORD: '' };

    expect(problemsIn(load({}, environment))).toEqual([
      'FANFARE_ADMIN_PASSWORD_FILE (admin.password): cannot be set together with FANFARE_ADMIN_PASSWORD',
    ]);
  });

  it('must name a file that can be read and is not empty, and its text is not repeated', () => {
    using empty = secretFile('\n');
    using binary = secretFile(new Uint8Array([0xff, 0xfe]));
    using long = secretFile('x'.repeat(65_537));
    using wrong = secretFile('hunter2');
    using directory = workingDirectory({});
    mkdirSync(join(directory.path, 'd'));
    const problem = (path: string) => problemsIn(load({}, { FANFARE_STORE_URL_FILE: path }))[0];
    const name = 'FANFARE_STORE_URL_FILE (store.url): ';

    expect(problem('')).toBe(`${name}must be the path of a file, got ""`);
    expect(problem('/nothing/here')).toBe(`${name}/nothing/here does not exist`);
    expect(problem(directory.path)).toBe(`${name}${directory.path} is not a file`);
    expect(problem('/dev/zero')).toBe(`${name}/dev/zero is not a file`);
    expect(problem(empty.path)).toBe(`${name}${empty.path} is empty`);
    expect(problem(binary.path)).toBe(`${name}${binary.path} is not UTF-8 text`);
    expect(problem(long.path)).toBe(`${name}${long.path} is larger than 64 KiB`);
    expect(problem(wrong.path)).toStartWith(`${name}must be sqlite:PATH`);
    expect(problem(wrong.path)).not.toContain('hunter');
  });

  it('is unknown for a setting without secrets', () => {
    expect(problemsIn(load({}, { FANFARE_LOG_LEVEL_FILE: '/x' }))).toEqual([
      'FANFARE_LOG_LEVEL_FILE: unknown setting',
    ]);
  });
});

describe('the app of the environment', () => {
  const given = { FANFARE_APP_ID: '17', FANFARE_APP_KEY: 'key', FANFARE_APP_SECRET: 'secret' };

  it('is the only one if there is no file', () => {
    const { apps } = configIn(load({}, given)).channels;

    expect(apps).toHaveLength(1);
    expect(apps?.[0]).toMatchObject({ id: '17', keys: [{ key: 'key', secret: 'secret' }] });
  });

  it('comes after those of the file', () => {
    const { apps } = configIn(loadJson({ channels: { apps: [app] } }, given)).channels;

    expect(apps?.map(({ id }) => id)).toEqual(['a', '17']);
  });

  it('may have its secret in a file', () => {
    using file = secretFile('from-file\n');
    const { FANFARE_APP_SECRET: _, ...others } = given;
    const loaded = load({}, { ...others, FANFARE_APP_SECRET_FILE: file.path });

    expect(configIn(loaded).channels.apps?.[0]?.keys[0]?.secret).toBe('from-file');
    expect(problemsIn(load({}, { ...given, FANFARE_APP_SECRET_FILE: file.path }))).toEqual([
      'FANFARE_APP_SECRET_FILE: cannot be set together with FANFARE_APP_SECRET',
    ]);
    expect(problemsIn(load({}, { ...others, FANFARE_APP_SECRET_FILE: '/nothing/here' }))).toEqual([
      'FANFARE_APP_SECRET_FILE: /nothing/here does not exist',
    ]);
  });

  it('needs its id, its key and its secret', () => {
    expect(problemsIn(load({}, { FANFARE_APP_KEY: 'key' }))).toEqual([
      'FANFARE_APP_ID: required if FANFARE_APP_KEY is set',
      'FANFARE_APP_SECRET: required, or FANFARE_APP_SECRET_FILE, to describe an app',
    ]);
  });

  it('is refused with the variable that is wrong', () => {
    expect(problemsIn(load({}, { ...given, FANFARE_APP_ID: 'a b', FANFARE_APP_KEY: '' }))).toEqual([
      expect.stringContaining('FANFARE_APP_ID (channels.apps[0].id): must be 1 to 100'),
      'FANFARE_APP_KEY (channels.apps[0].keys[0].key): must not be empty',
    ]);
    const twice = loadJson({ channels: { apps: [app] } }, { ...given, FANFARE_APP_ID: 'a' });
    expect(problemsIn(twice)).toEqual([
      'FANFARE_APP_ID (channels.apps[1].id): is already the id of channels.apps[0]',
    ]);
    expect(problemsIn(loadJson({ channels: { apps: {} } }, given))).toEqual([
      'channels.apps: must be a list, got an object',
    ]);
  });
});
