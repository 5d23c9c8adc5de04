import { describe, expect, it } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from './load.ts';
import { configIn, load, problemsIn, workingDirectory } from './loading.fixture.ts';

describe('a configuration file', () => {
  it('means the same in JSON, YAML and TOML', () => {
    const json = load({ 'fanfare.json': '{ "channels": { "port": 7001 }, "drainSeconds": 3 }' });
    const yaml = load({ 'fanfare.yaml': 'channels:\n  port: 7001\ndrainSeconds: 3\n' });
    const yml = load({ 'fanfare.yml': 'channels: { port: 7001 }\ndrainSeconds: 3\n' });
    const toml = load({ 'fanfare.toml': 'drainSeconds = 3\n[channels]\nport = 7001\n' });

    expect(configIn(json)).toMatchObject({ channels: { port: 7001 }, drainSeconds: 3 });
    expect(configIn(yaml)).toEqual(configIn(json));
    expect(configIn(yml)).toEqual(configIn(json));
    expect(configIn(toml)).toEqual(configIn(json));
  });

  it('is found in the working directory, and its path is reported', () => {
    using directory = workingDirectory({ 'fanfare.toml': '' });

    const loaded = loadConfig({ directory: directory.path, environment: {} });

    expect(loaded.source).toBe(join(directory.path, 'fanfare.toml'));
  });

  it('is the one of the machine, if the working directory has none', () => {
    using directory = workingDirectory({});
    using own = workingDirectory({ 'fanfare.json': '{"drainSeconds":1}' });
    using system = workingDirectory({ 'fanfare.yaml': 'drainSeconds: 2', 'other.json': '{}' });
    const from = (path: string) =>
      loadConfig({ directory: path, environment: {}, systemDirectory: system.path });

    expect(configIn(from(directory.path)).drainSeconds).toBe(2);
    expect(from(directory.path).source).toBe(join(system.path, 'fanfare.yaml'));
    expect(configIn(from(own.path)).drainSeconds).toBe(1);
  });

  it('is the one given with --config, before a default name', () => {
    const files = { 'fanfare.json': '{"drainSeconds":1}', 'other.json': '{"drainSeconds":2}' };

    expect(configIn(load(files, {}, 'other.json')).drainSeconds).toBe(2);
    expect(configIn(load(files, { FANFARE_CONFIG: 'other.json' })).drainSeconds).toBe(2);
    expect(configIn(load(files, { FANFARE_CONFIG: 'x.json' }, 'other.json')).drainSeconds).toBe(2);
    expect(configIn(load(files, { FANFARE_CONFIG: '' })).drainSeconds).toBe(1);
  });

  it('must not exist twice', () => {
    using directory = workingDirectory({ 'fanfare.json': '{}', 'fanfare.yaml': '' });

    const loaded = loadConfig({ directory: directory.path, environment: {} });

    expect(loaded.source).toBeUndefined();
    expect(problemsIn(loaded)).toEqual([
      `${directory.path}: holds fanfare.json and fanfare.yaml; keep one, or choose one with --config`,
    ]);
  });

  it('is reported as missing, a directory, of another format or not text', () => {
    using directory = workingDirectory({ 'fanfare.ini': '', 'latin.json': '' });
    mkdirSync(join(directory.path, 'd.json'));
    writeFileSync(join(directory.path, 'latin.json'), new Uint8Array([0x22, 0xe9, 0x22]));
    const problems = (file: string) =>
      problemsIn(loadConfig({ file, directory: directory.path, environment: {} }));

    expect(problems('gone.json')).toEqual(['gone.json: does not exist']);
    expect(problems(`${'a'.repeat(300)}.json`)[0]).toEndWith(': cannot be read (ENAMETOOLONG)');
    expect(problems('d.json')).toEqual(['d.json: is a directory, not a file']);
    expect(problems('latin.json')).toEqual(['latin.json: is not UTF-8 text']);
    expect(problems('fanfare.ini')).toEqual([
      'fanfare.ini: must end in .json, .yaml, .yml or .toml',
    ]);
  });

  it('is reported with the place where it cannot be parsed', () => {
    const broken = {
      'a.json': '{\n  "drainSeconds": 3\n  "log": {}\n}',
      'a.yaml': 'log:\n  level: info\n   format: text\n',
      'a.toml': 'drainSeconds = 3\nlog = [\n',
    };
    const problems = Object.keys(broken).flatMap((name) => problemsIn(load(broken, {}, name)));

    expect(problems).toEqual([
      'a.json: is not valid JSON: line 3, column 3: expected a comma or }',
      'a.yaml: is not valid YAML: line 2, column 10: Nested mappings are not allowed in compact mappings',
      "a.toml: is not valid TOML: line 2, column 8: Unterminated array; expected ']'",
    ]);
  });

  it('is not quoted if it cannot be parsed', () => {
    for (const [name, text] of Object.entries({
      'a.json': '{"password": hunter2}',
      'a.yaml': 'password: @hunter2',
      'a.toml': 'password = hunter2',
    })) {
      const [problem] = problemsIn(load({ [name]: text }, {}, name));
      expect(problem).toContain('is not valid');
      expect(problem).not.toContain('hunter');
    }
  });

  it('must not be very deep or very long', () => {
    const deep = load({ 'a.yaml': '['.repeat(100_000) }, {}, 'a.yaml');
    const long = load({ 'a.json': ' '.repeat(16 * 1024 * 1024 + 1) }, {}, 'a.json');

    expect(problemsIn(deep)).toEqual(['a.yaml: is not valid YAML: nested too deeply']);
    expect(problemsIn(long)).toEqual(['a.json: is larger than 16 MiB']);
  });

  it('may begin with a byte order mark', () => {
    expect(configIn(load({ 'fanfare.json': '\ufeff{"drainSeconds":3}' })).drainSeconds).toBe(3);
  });

  it('may be empty where the format allows it', () => {
    expect(load({ 'fanfare.yaml': '# nothing yet\n' }).ok).toBe(true);
    expect(load({ 'fanfare.toml': '' }).ok).toBe(true);
    expect(problemsIn(load({ 'a.json': '' }, {}, 'a.json'))).toEqual([
      'a.json: is not valid JSON: line 1, column 1: expected a value',
    ]);
  });

  it('must hold an object', () => {
    expect(problemsIn(load({ 'a.json': '[]' }, {}, 'a.json'))).toEqual([
      'a.json: must be an object, got a list',
    ]);
    expect(problemsIn(load({ 'a.yaml': 'a: 1\n---\nb: 2\n' }, {}, 'a.yaml'))).toEqual([
      'a.yaml: must be an object, got a list',
    ]);
  });

  it('has dates as text, since they would look like empty groups', () => {
    expect(problemsIn(load({ 'fanfare.toml': 'channels = 2020-01-01' }))).toEqual([
      'channels: must be an object, got a string',
    ]);
  });
});
