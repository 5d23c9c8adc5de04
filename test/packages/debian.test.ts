import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianVersionOf, versionOf } from '../../packaging/commit.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { bootMachine, inChroot, type Machine, makeMachine } from './booted-machine.ts';
import { toEnd } from './unpacked-image.ts';

const ROOT = join(import.meta.dir, '../..');

/** The Debian package on a machine of its own, from its installation to its purge. */

const NEXT_VERSION = '999.0.0';
const CONFIG = '/etc/fanfare/fanfare.yaml';

const folder = temporaryDirectory();
afterAll(() => folder[Symbol.dispose]());

const root = join(folder.path, 'machine');
const inside = (path: string) => join(root, path);
const packageOf = (architecture: string) =>
  join(folder.path, `fanfare_${debianVersionOf(versionOf(ROOT))}_${architecture}.deb`);

let machine: Machine;

const architecture = process.arch === 'x64' ? 'amd64' : process.arch;

beforeAll(async () => {
  toEnd(['sh', 'scripts/bun.sh', 'packaging/package.ts', '--only', 'deb', '--out', folder.path]);
  makeMachine(root);
  copyFileSync(packageOf(architecture), inside('root/now.deb'));
  makeNext();
  // As in the image of a machine: nothing can be started here, so the first boot does it.
  expect(inChroot(root, ['dpkg', '-i', '/root/now.deb'])).toMatchObject({ exitCode: 0 });
  machine = await bootMachine(root);
}, 900_000);
afterAll(() => machine?.[Symbol.asyncDispose](), 60_000);

/** Makes a later version, with another configuration. */
function makeNext(): void {
  const content = join(folder.path, 'next');
  toEnd(['dpkg-deb', '--raw-extract', packageOf(architecture), content]);
  const control = join(content, 'DEBIAN/control');
  const text = readFileSync(control, 'utf8');
  writeFileSync(control, text.replace(/^Version: .*$/m, `Version: ${NEXT_VERSION}`));
  appendFileSync(join(content, CONFIG), '# A comment of the later version.\n');
  const next = ['dpkg-deb', '--root-owner-group', '-Znone', '--build', content];
  toEnd([...next, inside('root/next.deb')]);
}

const run = (...command: string[]) => machine.run(command);

/** Installs a package, and keeps the configuration of the operator. */
const install = (file: string) =>
  run('dpkg', '--force-confdef', '--force-confold', '--install', `/root/${file}`);

/** A property of the service, by systemd. */
const property = (name: string) =>
  run('systemctl', 'show', 'fanfare', `--property=${name}`, '--value').output.trim();

const asServer = (...args: string[]) => run('runuser', '-u', 'fanfare', '--', 'fanfare', ...args);

function journal(): string {
  return run('journalctl', '--unit=fanfare', '--output=cat').output;
}

describe('the Debian package', () => {
  it.each(['amd64', 'arm64'])('has no fault that lintian finds: %s', (one) => {
    const lintian = ['lintian', '--allow-root', '--fail-on', 'error,warning', packageOf(one)];
    const { exitCode, stdout } = Bun.spawnSync(lintian);
    expect([exitCode, stdout.toString()]).toEqual([0, '']);
  });

  it('has a sum of each file, by which dpkg finds all of them unchanged', () => {
    expect(run('dpkg', '--verify', 'fanfare')).toEqual({ exitCode: 0, output: '' });
    const sums = readFileSync(inside('var/lib/dpkg/info/fanfare.md5sums'), 'utf8');
    expect(sums).toContain('  usr/bin/fanfare\n');
    expect(sums).toContain('  usr/share/doc/fanfare/docs/operate/operate.md\n');
  });

  it('has a unit that systemd finds no fault with, and that leaves little to attack', () => {
    const unit = '/lib/systemd/system/fanfare.service';
    expect(run('systemd-analyze', 'verify', unit)).toEqual({ exitCode: 0, output: '' });
    const threshold = ['--offline=true', '--threshold=20', '--no-pager'];
    expect(run('systemd-analyze', 'security', ...threshold, unit)).toMatchObject({ exitCode: 0 });
  });

  it('brings the pages, the alerts and the dashboard', () => {
    for (const file of ['operate/operate.md', 'monitoring/alerts.yml', 'monitoring/grafana.json']) {
      expect([file, existsSync(inside(`usr/share/doc/fanfare/docs/${file}`))]).toEqual([
        file,
        true,
      ]);
    }
  });

  it('has started the server as a user without rights, in folders that others cannot read', () => {
    expect(run('fanfare', 'health', '--ready')).toMatchObject({ exitCode: 0 });
    const status = run('cat', `/proc/${property('MainPID')}/status`).output;
    const uid = run('id', '-u', 'fanfare').output.trim();
    expect(Number(uid)).toBeLessThan(1000);
    expect(status).toContain(`\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\n`);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    const paths = ['/var/lib/fanfare', '/var/lib/fanfare/fanfare.db', '/etc/fanfare', CONFIG];
    expect(
      run('stat', '--format=%a %U %G %n', ...paths)
        .output.trim()
        .split('\n'),
    ).toEqual([
      '750 fanfare fanfare /var/lib/fanfare',
      '600 fanfare fanfare /var/lib/fanfare/fanfare.db',
      '750 root fanfare /etc/fanfare',
      `640 root fanfare ${CONFIG}`,
    ]);
  });

  it('keeps secrets out of the journal', () => {
    const [app] = JSON.parse(asServer('apps', 'list', '--json').output);
    const { output } = asServer('apps', 'show', app.id, '--secret', '--json');
    const [key] = JSON.parse(output).keys;
    expect(key.secret).toMatch(/^\w{20}/);
    expect(journal()).toContain(key.key);
    expect(journal()).not.toContain(key.secret);
    expect(journal()).not.toContain(asServer('admin', 'password').output.trim());
  });

  it('reloads the configuration', async () => {
    expect(run('systemctl', 'reload', 'fanfare')).toMatchObject({ exitCode: 0 });
    await eventually(journal, (text) => text.includes('Reloaded'));
    expect(property('ActiveState')).toBe('active');
  });

  it('starts the server again after it was killed', async () => {
    run('kill', '-KILL', property('MainPID'));
    await eventually(
      () => [property('NRestarts'), property('ActiveState')].join(),
      (state) => state === '1,active',
    );
    expect(run('fanfare', 'health')).toMatchObject({ exitCode: 0 });
  });

  it('does not start the server again and again with a configuration that is wrong', () => {
    const good = readFileSync(inside(CONFIG));
    writeFileSync(inside(CONFIG), `${good}chanels: {}\n`);
    expect(run('systemctl', 'restart', 'fanfare').exitCode).not.toBe(0);
    // It would be "activating" before the next try.
    expect([property('ActiveState'), property('ExecMainStatus')]).toEqual(['failed', '2']);
    expect(journal()).toContain('did you mean "channels"?');
    writeFileSync(inside(CONFIG), good);
    expect(run('systemctl', 'start', 'fanfare')).toMatchObject({ exitCode: 0 });
  });

  it('keeps configuration and store in an upgrade, and restarts the server', () => {
    appendFileSync(inside(CONFIG), '# A comment of the operator.\n');
    expect(asServer('apps', 'create', '--name', 'kept')).toMatchObject({ exitCode: 0 });
    const before = property('MainPID');
    expect(install('next.deb')).toMatchObject({ exitCode: 0 });
    expect(property('ActiveState')).toBe('active');
    expect(property('MainPID')).not.toBe(before);
    expect(readFileSync(inside(CONFIG), 'utf8')).toEndWith('# A comment of the operator.\n');
    expect(run('stat', '--format=%a %U %G', CONFIG).output).toBe('640 root fanfare\n');
    expect(asServer('apps', 'list').output).toContain('kept');
  });

  it('leaves a server alone in an upgrade that the operator has disabled', () => {
    run('systemctl', 'disable', '--now', 'fanfare');
    expect(install('next.deb')).toMatchObject({ exitCode: 0 });
    expect([property('ActiveState'), property('UnitFileState')]).toEqual(['inactive', 'disabled']);
    run('systemctl', 'enable', '--now', 'fanfare');
  });

  it('can be upgraded without a configuration file', () => {
    const kept = readFileSync(inside(CONFIG));
    run('rm', CONFIG);
    expect(install('next.deb')).toMatchObject({ exitCode: 0 });
    run('install', '-m', '640', '-g', 'fanfare', '/dev/null', CONFIG);
    writeFileSync(inside(CONFIG), kept);
  });

  it('keeps configuration and store when it is removed, and starts again when it comes back', () => {
    expect(run('dpkg', '--remove', 'fanfare')).toMatchObject({ exitCode: 0 });
    expect(existsSync(inside('usr/bin/fanfare'))).toBe(false);
    expect(run('pgrep', '-u', 'fanfare').output).toBe('');
    expect(readFileSync(inside(CONFIG), 'utf8')).toEndWith('# A comment of the operator.\n');
    expect(install('now.deb')).toMatchObject({ exitCode: 0 });
    expect([property('ActiveState'), property('UnitFileState')]).toEqual(['active', 'enabled']);
    expect(asServer('apps', 'list').output).toContain('kept');
  });

  it('leaves nothing behind when it is purged', () => {
    writeFileSync(inside('etc/default/fanfare'), 'FANFARE_LOG_LEVEL=warn\n');
    expect(run('dpkg', '--purge', 'fanfare')).toMatchObject({ exitCode: 0 });
    const found = ['find', '/', '-xdev', '-iname', '*fanfare*', '-not', '-path', '/proc/*'];
    expect(run(...found).output).toBe('');
    expect(run('getent', 'passwd', 'fanfare').output).toBe('');
    expect(run('getent', 'group', 'fanfare').output).toBe('');
    expect(run('systemctl', 'is-system-running').output).toBe('running\n');
  });

  it('starts the server at once when it is installed on a machine that runs', () => {
    expect(install('now.deb')).toMatchObject({ exitCode: 0 });
    expect([property('ActiveState'), property('UnitFileState')]).toEqual(['active', 'enabled']);
    expect(run('systemctl', 'stop', 'fanfare')).toMatchObject({ exitCode: 0 });
    expect(property('ExecMainStatus')).toBe('0');
  });
});
