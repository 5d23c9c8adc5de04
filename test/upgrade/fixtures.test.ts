import { describe, expect, it } from 'bun:test';
import packageJson from '../../package.json';
import { migrations } from '../../src/stores/database/migrations.ts';
import { digestOf, storedReleases } from './stored-release.ts';

const RELEASES = await storedReleases();

const HELP =
  'If this version is not released yet, run `npm run upgrade-fixtures`. If it is, raise the version in package.json first.';

describe('the stores that test upgrades', () => {
  it.each(['sqlite', 'postgres'])('have one in %s with the layout of this version', (dialect) => {
    const { version } = packageJson;
    const mine = RELEASES.find((one) => one.release === version && one.dialect === dialect);
    if (mine === undefined) throw new Error(`${version} has no fixture in ${dialect}. ${HELP}`);
    if (mine.layout === migrations.length) return;
    throw new Error(
      `The fixture of ${version} in ${dialect} has ${mine.layout} migrations, and the server has ${migrations.length}. ${HELP}`,
    );
  });

  it.each(RELEASES.map((one) => [`${one.release} in ${one.dialect}`, one] as const))(
    'show that the migrations of %s have not changed',
    (_, { layout, digest }) => {
      expect(migrations.length).toBeGreaterThanOrEqual(layout);
      expect(digestOf(layout)).toBe(digest);
    },
  );
});
