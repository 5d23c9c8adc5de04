import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '../../src/cli/commands.ts';
import { loadConfig } from '../../src/config/load.ts';

const ROOT = join(import.meta.dir, '../..');
const text = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** The values of a setting of the unit, which may have several lines. */
const inUnit = (name: string) =>
  Array.from(text('packaging/systemd/fanfare.service').matchAll(new RegExp(`^${name}=(.*)$`, 'gm')))
    .map(([, value = '']) => value)
    .join(' ');

it('sets the environment that the launcher sets, so that the program need not start again', () => {
  const wanted = Array.from(
    text('bin/fanfare').matchAll(/\$\{([A-Z]\w+):=(\d+)\}/g),
    ([, name, value]) => `${name}=${value}`,
  );
  expect(inUnit('Environment').split(' ').sort()).toEqual(wanted.sort());
});

it('starts a command that there is, and waits for longer than a stop takes', () => {
  const [program, command, option, file] = inUnit('ExecStart').split(' ');
  expect([program, option, file]).toEqual([
    '/usr/bin/fanfare',
    '--config',
    '/etc/fanfare/fanfare.yaml',
  ]);
  expect(commands.map(({ name }) => name)).toContain(command ?? '');
  const loaded = loadConfig({ directory: '/', environment: {}, file: example });
  const config = loaded.ok ? loaded.config : undefined;
  expect(Number(inUnit('TimeoutStopSec'))).toBeGreaterThan(
    (config?.drainSeconds ?? 0) + (config?.stopDelaySeconds ?? 0),
  );
});

const example = join(ROOT, 'packaging/etc/fanfare.yaml');

it('is shown in deploy.md as it is, from its beginning', () => {
  const [, shown = ''] = /```ini\n([\s\S]*?)```/.exec(text('docs/operate/deploy.md')) ?? [];
  expect(shown).toContain('LimitNOFILE=');
  expect(text('packaging/systemd/fanfare.service')).toStartWith(shown);
});

it('keeps the store where the unit may write, by its whole path', () => {
  const loaded = loadConfig({ directory: '/', environment: {}, file: example });
  expect(loaded).toMatchObject({ ok: true });
  expect(loaded.ok && loaded.config.store.url).toBe('sqlite:/var/lib/fanfare/fanfare.db');
  expect(inUnit('StateDirectory')).toBe('fanfare');
});

it('has examples in its configuration that the server accepts', async () => {
  const uncommented = text('packaging/etc/fanfare.yaml')
    .split('\n')
    .filter((line) => !/^# [A-Z`]/.test(line))
    .map((line) => line.replace(/^# /, ''))
    .join('\n');
  const content = Bun.YAML.parse(uncommented);
  expect(Object.keys(content as object)).toEqual(['store', 'channels', 'trustedProxies', 'tls']);
  const file = join(process.env['TMPDIR'] ?? '/tmp', `fanfare-example-${process.pid}.json`);
  await Bun.write(file, JSON.stringify(content));
  expect(loadConfig({ directory: '/', environment: {}, file })).toMatchObject({ ok: true });
  await Bun.file(file).delete();
});
