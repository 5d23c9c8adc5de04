import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json';
import { ROOT } from './bundle.ts';
import { commitOf, commitTime, versionOf } from './commit.ts';

/** A package in `package-lock.json`. */
interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Writes the list of everything that a release contains: packages, versions, licences and sums, as CycloneDX 1.6. */
export async function packSbom(out: string): Promise<readonly string[]> {
  const file = join(out, 'sbom.cdx.json');
  await Bun.write(file, `${JSON.stringify(sbom(), undefined, 2)}\n`);
  return [file];
}

/** The same bytes for the same commit. Source of the fields: https://cyclonedx.org/docs/1.6/json/ */
export function sbom() {
  const packages = shippedPackages();
  const version = versionOf(ROOT);
  const self = {
    type: 'application',
    'bom-ref': purlOf('fanfare', version),
    name: 'fanfare',
    version,
    description: packageJson.description,
    licenses: [{ license: { id: packageJson.license } }],
    purl: purlOf('fanfare', version),
    externalReferences: [{ type: 'website', url: packageJson.homepage }],
    properties: [{ name: 'fanfare:commit', value: commitOf(ROOT) ?? 'unknown' }],
  };
  const refs = new Map(
    [...packages].map(([name, { version = '' }]) => [name, purlOf(name, version)]),
  );
  const dependsOn = (names: object | undefined) =>
    Object.keys(names ?? {}).flatMap((name) => refs.get(name) ?? []);
  const components = [...packages].map(([name, one]) => componentOf(name, one));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([self, components]))}`,
    version: 1,
    metadata: {
      timestamp: new Date(commitTime(ROOT) * 1_000).toISOString(),
      component: self,
    },
    components,
    dependencies: [
      { ref: self['bom-ref'], dependsOn: dependsOn(packageJson.dependencies) },
      ...[...packages].map(([name, one]) => ({
        ref: refs.get(name),
        dependsOn: dependsOn(one.dependencies),
      })),
    ],
  };
}

/** The packages of a release by name. `bun` stands for its programs for each platform, which are optional packages. */
function shippedPackages(): ReadonlyMap<string, LockedPackage> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const all = Object.entries<LockedPackage>(lock.packages);
  return new Map(
    all.flatMap(([path, one]) =>
      path === '' || one.dev === true || one.optional === true
        ? []
        : [[path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), one] as const],
    ),
  );
}

function componentOf(name: string, { version = '', license, integrity }: LockedPackage) {
  const [group, own] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const content = Buffer.from(integrity?.replace(/^sha512-/, '') ?? '', 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': purlOf(name, version),
    ...(group === undefined ? {} : { group }),
    name: own,
    version,
    scope: 'required',
    hashes: [{ alg: 'SHA-512', content }],
    licenses: [{ license: { id: license } }],
    purl: purlOf(name, version),
  };
}

/** The address of a package of npm in the form of https://github.com/package-url/purl-spec. */
function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
}

/** A UUID of version 8 that names a text. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
