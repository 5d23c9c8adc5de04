import { expect, it } from 'bun:test';
import packageJson from '../../package.json';
import { sbom } from '../../packaging/sbom.ts';

/** What the server may depend on is checked against its own list, because `npm sbom` leaves packages out. */
const LICENSES = ['MIT', 'ISC', 'BSD-3-Clause', 'Apache-2.0'];

const { components, dependencies, metadata } = sbom();
const nameOf = ({ group, name }: { group?: string | undefined; name: string | undefined }) =>
  group === undefined ? name : `${group}/${name}`;

it('the bill of materials names every dependency of the server and what they bring', () => {
  const names = components.map(nameOf);
  for (const name of Object.keys(packageJson.dependencies)) expect(names).toContain(name);
  expect(names).toContain('@preact/signals-core');
  for (const name of Object.keys(packageJson.devDependencies)) expect(names).not.toContain(name);
});

it('each part has a version, a licence that a product may ship, and a sum', () => {
  for (const { name, version, licenses, hashes, purl } of components) {
    expect(purl).toEndWith(`@${version}`);
    expect(LICENSES, name).toContain(licenses[0]?.license.id ?? '');
    expect(hashes[0]?.content, name).toMatch(/^[0-9a-f]{128}$/);
  }
});

it('each reference names a part that is there', () => {
  const refs = [metadata.component, ...components].map((one) => one['bom-ref']);
  expect(dependencies.map(({ ref }) => ref)).toEqual(refs);
  for (const { dependsOn } of dependencies) {
    for (const ref of dependsOn) expect(refs).toContain(ref);
  }
});

it('is the same when it is made twice', () => {
  expect(JSON.stringify(sbom())).toBe(JSON.stringify(sbom()));
});
