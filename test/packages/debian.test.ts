import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { type BootedMachine, bootMachine, makeMachine } from './booted-machine.ts';
import { toEnd } from './unpacked-image.ts';

const folder = temporaryDirectory();
const file = join(folder.path, `fanfare_${packageJson.version}_amd64.deb`);
const root = join(folder.path, 'machine');
let machine: BootedMachine;

beforeAll(async () => {
  toEnd([
    ...['sh', 'scripts/bun.sh', 'packaging/package.ts', '--only', 'deb'],
    ...['--out', folder.path],
  ]);
  makeMachine(root);
  copyFileSync(file, join(root, 'root/fanfare.deb'));
  machine = await bootMachine(root);
}, 300_000);

afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
}, 120_000);

/** What a line prints, if it succeeds. */
function output(line: string): string {
  const answer = machine.run(line);
  if (answer.exitCode !== 0) throw new Error(`${line} failed: ${answer.output}`);
  return answer.output;
}

const INSTALL = 'dpkg -i /root/fanfare.deb';
const MAIN_PID = 'systemctl show -p MainPID --value fanfare';
const LISTENS = 'fanfare health --ready';
const FIRST_APP = 'runuser -u fanfare -- fanfare apps list';

it('lintian has nothing to say about the package', () => {
  const { exitCode, stdout } = Bun.spawnSync(['lintian', '--tag-display-limit', '0', file]);
  expect([exitCode, stdout.toString()]).toEqual([0, '']);
});

describe('on a machine with systemd, the package', () => {
  it('starts the server, now and at each boot, as a user of its own', () => {
    output(INSTALL);
    expect(output('systemctl is-enabled fanfare')).toBe('enabled');
    output(LISTENS);
    const pid = output(MAIN_PID);
    expect(output(`ps -o user= -p ${pid}`)).toBe('fanfare');
    expect(output(`grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/${pid}/status`)).toBe(
      'CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2',
    );
  }, 60_000);

  it('lets the server alone read the configuration and the store', () => {
    const paths =
      '/etc/fanfare /etc/fanfare/fanfare.yaml /var/lib/fanfare /var/lib/fanfare/fanfare.db';
    expect(output(`stat -c '%U %G %a' ${paths}`).split('\n')).toEqual([
      'root fanfare 750',
      'root fanfare 640',
      'fanfare fanfare 750',
      'fanfare fanfare 600',
    ]);
  });

  it('reloads the server without a restart', () => {
    const pid = output(MAIN_PID);
    output('systemctl reload fanfare');
    expect(output(MAIN_PID)).toBe(pid);
    expect(output('journalctl -u fanfare -o cat')).toContain('"Apps changed"');
  });

  it('starts the server again after kill -9, with its apps', async () => {
    const apps = output(FIRST_APP);
    const pid = output(MAIN_PID);
    output(`kill -9 ${pid}`);
    await machine.until(`[ "$(${MAIN_PID})" != ${pid} ] && ${LISTENS}`);
    expect(output(FIRST_APP)).toBe(apps);
  }, 60_000);

  it('tries a wrong configuration once, and says in the log what is wrong', () => {
    output("echo 'surprise: 1' >> /etc/fanfare/fanfare.yaml");
    expect(machine.run('systemctl restart fanfare').exitCode).toBe(1);
    expect(output('systemctl show -p ActiveState,ExecMainStatus,NRestarts fanfare')).toBe(
      'NRestarts=0\nExecMainStatus=2\nActiveState=failed',
    );
    expect(output('journalctl -u fanfare -n 5 -o cat')).toContain('surprise: unknown setting');
    output("sed -i '$d' /etc/fanfare/fanfare.yaml && systemctl start fanfare");
  }, 60_000);

  it('restarts the server at an upgrade, and keeps what the operator changed', () => {
    output("echo '# Ours.' >> /etc/fanfare/fanfare.yaml");
    const pid = output(MAIN_PID);
    output(INSTALL);
    expect(output(MAIN_PID)).not.toBe(pid);
    expect(output('tail -n 1 /etc/fanfare/fanfare.yaml')).toBe('# Ours.');
  }, 60_000);

  it('leaves a server disabled that the operator has disabled', () => {
    output('systemctl disable --now fanfare');
    output(INSTALL);
    expect(machine.run('systemctl is-enabled fanfare').output).toBe('disabled');
    expect(machine.run('systemctl is-active fanfare').output).toBe('inactive');
    output('systemctl enable --now fanfare');
  }, 60_000);

  it('stops the server when it is removed, and keeps the store for the next installation', () => {
    const apps = output(FIRST_APP);
    output('dpkg -r fanfare');
    expect(machine.run('pgrep -x fanfare').exitCode).toBe(1);
    output(INSTALL);
    expect(output(FIRST_APP)).toBe(apps);
  }, 60_000);

  it('leaves nothing behind when it is purged', () => {
    output('dpkg -P fanfare');
    expect(output("find / -xdev -name '*fanfare*' -not -path '/root/*' -not -path '/proc/*'")).toBe(
      '',
    );
    expect(machine.run('getent passwd fanfare').exitCode).toBe(2);
  }, 60_000);
});
