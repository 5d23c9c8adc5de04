import { describe, expect, it } from 'bun:test';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../load.ts';
import { load, problemsIn, workingDirectory } from '../loading.fixture.ts';
import { fileUser, privateGroupIn, whoElseWrites } from './chosen-by-others.ts';

const ann = { ids: [1000], privateGroup: 1000 };

describe('another user may have chosen', () => {
  it.each([
    [
      'a file of another user',
      { uid: 1001, gid: 1001, mode: 0o100600 },
      'belongs to user 1001 (mode 0600)',
    ],
    [
      'what everybody may write',
      { uid: 1000, gid: 1000, mode: 0o100646 },
      'every user may write to it (mode 0646)',
    ],
    [
      'what is in /tmp',
      { uid: 0, gid: 0, mode: 0o041777 },
      'every user may write to it (mode 1777)',
    ],
    [
      'what a group may write',
      { uid: 1000, gid: 50, mode: 0o040775 },
      'the group 50 may write to it (mode 0775)',
    ],
  ])('%s', (_, stats, why) => {
    expect(whoElseWrites(stats, ann)).toBe(why);
  });

  it.each([
    ['of the caller', { uid: 1000, gid: 50, mode: 0o100644 }],
    ['of root', { uid: 0, gid: 50, mode: 0o100640 }],
    ['that the group of root may write', { uid: 1000, gid: 0, mode: 0o100664 }],
    ['that only the own group of the caller may write', { uid: 1000, gid: 1000, mode: 0o040775 }],
  ])('but not what is %s', (_, stats) => {
    expect(whoElseWrites(stats, ann)).toBeUndefined();
  });
});

it('a group is private if it has the name of the user and nobody else in it', () => {
  const groups = 'root:x:0:\nstaff:x:50:ann,bob\nann:x:1000:\nbob:x:1001:ann\ncid:x:1002:cid\n';
  expect(privateGroupIn(groups, 'ann')).toBe(1000);
  expect(privateGroupIn(groups, 'bob')).toBeUndefined();
  expect(privateGroupIn(groups, 'cid')).toBe(1002);
  expect(privateGroupIn(groups, 'dan')).toBeUndefined();
  expect(privateGroupIn(groups, undefined)).toBeUndefined();
});

it('who calls sudo is trusted by root, and by nobody else', () => {
  const isRoot = process.geteuid?.() === 0;
  const ids = fileUser({ SUDO_UID: '1000' })?.ids;
  expect(ids).toEqual(isRoot ? [0, 1000] : [process.geteuid?.() ?? 0]);
  expect(fileUser({ SUDO_UID: 'x' })?.ids).toHaveLength(1);
});

describe('a configuration that is found', () => {
  it('counts only if nobody else may write to its directory', () => {
    using directory = workingDirectory({ 'fanfare.yaml': 'drainSeconds: 1' });
    const me = process.geteuid?.() ?? 0;
    const owners = me === 0 ? 'root' : `root or user ${me}`;
    const places = { directory: directory.path, environment: {} };
    expect(loadConfig(places)).toMatchObject({ ok: true, config: { drainSeconds: 1 } });
    chmodSync(directory.path, 0o1777);
    expect(problemsIn(loadConfig(places))).toEqual([
      `${directory.path}: every user may write to it (mode 1777). A configuration that is not named counts only if it and its directory belong to ${owners}, and nobody else may write to them. Change that, or name the file with --config`,
    ]);
    // Who names it has chosen it.
    for (const named of [
      { ...places, file: 'fanfare.yaml' },
      { ...places, environment: { FANFARE_CONFIG: 'fanfare.yaml' } },
    ]) {
      expect(loadConfig(named)).toMatchObject({ ok: true, config: { drainSeconds: 1 } });
    }
  });

  it('counts only if nobody else may write to it, in the working directory and in that of the machine', () => {
    using working = workingDirectory({});
    using machine = workingDirectory({ 'fanfare.json': '{}' });
    const file = join(machine.path, 'fanfare.json');
    const places = { directory: working.path, systemDirectory: machine.path, environment: {} };
    expect(loadConfig(places).ok).toBe(true);
    chmodSync(file, 0o666);
    expect(problemsIn(loadConfig(places))).toEqual([
      expect.stringContaining(`${file}: every user may write to it (mode 0666).`),
    ]);
  });

  it('is not needed', () => {
    expect(load({})).toMatchObject({ ok: true });
  });
});
