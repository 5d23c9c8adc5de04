import { expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionOf } from '../../packaging/commit.ts';
import { chartValues } from '../../scripts/chart-page.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const ROOT = join(import.meta.dir, '../..');
const CHART = join(ROOT, 'packaging/helm/fanfare');
const text = (file: string) => readFileSync(join(CHART, file), 'utf8');

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

/** What differs between a value and its schema: names that only one of both has, and objects that allow any name. */
function differences(value: unknown, schema: Schema, path: string): readonly string[] {
  const { properties } = resolved(schema);
  if (properties === undefined) return [];
  if (resolved(schema).additionalProperties !== false) return [`${path} allows any name`];
  const inner = value as Readonly<Record<string, unknown>>;
  const names = new Set([...Object.keys(inner), ...Object.keys(properties)]);
  return [...names].flatMap((name) => {
    const one = properties[name];
    if (one === undefined) return [`${path}.${name} is not in the schema`];
    if (name in inner) return differences(inner[name], one, `${path}.${name}`);
    return OPTIONAL.test(`${path}.${name}`) ? [] : [`${path}.${name} has no default`];
  });
}

/** What has no default: `global` is Helm's, and what a pod may need is Kubernetes'. */
const OPTIONAL = /^values\.(?:global|resources\..+)$/;

const schema: Schema = JSON.parse(text('values.schema.json'));
const resolved = (part: Schema): Schema =>
  schema.$defs?.[part.$ref?.replace('#/$defs/', '') ?? ''] ?? part;

/** The files of the archive of the chart, unpacked. */
async function packed(directory: string): Promise<string> {
  const args = ['packaging/package.ts', '--only', 'chart', '--out', directory];
  const made = Bun.spawnSync(['sh', 'scripts/bun.sh', ...args], { cwd: ROOT });
  expect(made.stderr.toString()).toBe('');
  return join(directory, `fanfare-chart-${versionOf(ROOT)}.tgz`);
}

it('has a schema of every value, and no other', () => {
  const values = Bun.YAML.parse(text('values.yaml'));
  expect(differences(values, schema, 'values')).toEqual([]);
});

it('is packed with the version of the program, the alerts and the settings of the server', async () => {
  using first = temporaryDirectory();
  using second = temporaryDirectory();
  const archives = [await packed(first.path), await packed(second.path)];
  const [bytes, same] = await Promise.all(archives.map((file) => Bun.file(file).bytes()));
  expect(Bun.hash(bytes ?? '')).toBe(Bun.hash(same ?? ''));

  Bun.spawnSync(['tar', '-xzf', archives[0] ?? ''], { cwd: first.path });
  const inArchive = (file: string) => readFileSync(join(first.path, 'fanfare', file), 'utf8');
  expect(Bun.YAML.parse(inArchive('Chart.yaml'))).toMatchObject({
    name: 'fanfare',
    version: versionOf(ROOT),
    appVersion: versionOf(ROOT),
  });
  const alerts = readFileSync(join(ROOT, 'docs/monitoring/alerts.yml'), 'utf8');
  expect(inArchive('files/alerts.yml')).toBe(alerts);
  const packedSchema = inArchive('values.schema.json');
  const { $defs } = JSON.parse(packedSchema);
  const references = [...packedSchema.matchAll(/"\$ref": "(.*?)"/g)].map(([, to]) => to);
  expect(references).toContain('#/$defs/config');
  const places = Object.keys($defs).map((name) => `#/$defs/${name}`);
  expect(references.filter((to) => !places.includes(String(to)))).toEqual([]);
  const { config } = $defs;
  expect(config.properties.channels.additionalProperties).toBe(false);
  expect(Object.keys(config.properties.engine.properties)).toContain('keyPrefix');
  expect(JSON.stringify(config)).not.toContain('"pattern"');
  expect(await Bun.file(join(first.path, 'fanfare/ci')).exists()).toBe(false);
});

it('takes its version from nowhere else', () => {
  expect(Bun.YAML.parse(text('Chart.yaml'))).toMatchObject({
    version: '0.0.0',
    appVersion: '0.0.0',
  });
});

it('explains each value above it, and leaves what lies in an explained value alone', () => {
  const values = chartValues(
    '# Top.\n\n# One.\na: 1\nb:\n  # Two.\n  c: [x]\n  # Three.\n  d:\n    e: 2\nf:\n  # Four.\n  g: ""\n',
  );
  expect(values).toEqual([
    { path: ['a'], help: 'One.', initial: 1 },
    { path: ['b', 'c'], help: 'Two.', initial: ['x'] },
    { path: ['b', 'd'], help: 'Three.', initial: { e: 2 } },
    { path: ['f', 'g'], help: 'Four.', initial: '' },
  ]);
  expect(() => chartValues('a: 1\n')).toThrow('values.yaml: a has no comment');
});
