import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'bun';
import { type Ran, runTool } from './tools.ts';

const ROOT = join(import.meta.dir, '../..');

/** The examples that the chart is checked with. */
const EXAMPLES = join(ROOT, 'packaging/helm/fanfare/ci');
export const exampleNames = readdirSync(EXAMPLES).map((file) => file.replace('-values.yaml', ''));
export const exampleFile = (name: string) => join(EXAMPLES, `${name}-values.yaml`);

/** An object of Kubernetes, as far as tests read it. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has other fields, and tests compare them with values.
  readonly spec: any;
  readonly data?: Readonly<Record<string, string>>;
}

/** Makes the archive of the chart in a folder. */
export function packChart(folder: string): string {
  const args = ['packaging/package.ts', '--only', 'chart', '--out', folder];
  const { exitCode, stdout, stderr } = spawnSync(['sh', 'scripts/bun.sh', ...args], { cwd: ROOT });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

/** Renders the chart with an example, values in JSON over it, or both. */
export function helmTemplate(archive: string, { example = '', values = {} } = {}): Ran {
  const file = `${archive}.values-${crypto.randomUUID()}.json`;
  writeFileSync(file, JSON.stringify(values));
  const examples = example === '' ? [] : ['--values', exampleFile(example)];
  return runTool('helm', [
    ...['template', 'live', archive, '--kube-version', '1.30.0'],
    ...[...examples, '--values', file],
  ]);
}

/** Renders the chart. Throws with what Helm says if it refuses. */
export function objectsOf(archive: string, given = {}): readonly KubernetesObject[] {
  const { exitCode, stdout, stderr } = helmTemplate(archive, given);
  if (exitCode !== 0) throw new Error(stderr);
  return Bun.YAML.parse(stdout) as readonly KubernetesObject[];
}

/** The one object of a kind. */
export function only(objects: readonly KubernetesObject[], ...kinds: string[]): KubernetesObject {
  const [found, ...others] = objects.filter(({ kind }) => kinds.includes(kind));
  if (found === undefined || others.length > 0) throw new Error(`Not one ${kinds.join(' or ')}`);
  return found;
}

export const podOf = (objects: readonly KubernetesObject[]) =>
  only(objects, 'Deployment', 'StatefulSet').spec.template.spec;

export const containerOf = (objects: readonly KubernetesObject[]) => podOf(objects).containers[0];

/** The variables with a value of their own. */
export function environmentOf(objects: readonly KubernetesObject[]): Record<string, string> {
  const env: readonly { name: string; value?: string }[] = containerOf(objects).env;
  return Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}

const fromBase64 = (text: string) => Buffer.from(text, 'base64').toString();

/** What Secrets of the operator hold, by name and key. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Makes the volumes of the pod in a folder, as the kubelet does. Returns the folder of each path in the container. */
export function mountVolumes(
  objects: readonly KubernetesObject[],
  { folder, secrets }: { readonly folder: string; readonly secrets: Secrets },
): ReadonlyMap<string, string> {
  const rendered = objects.filter(({ kind }) => kind === 'Secret');
  const own = rendered.map(({ metadata: { name }, data = {} }) => {
    const files = Object.entries(data).map(([key, text]) => [key, fromBase64(text)] as const);
    return [name, Object.fromEntries(files)] as const;
  });
  const all: Secrets = { ...secrets, ...Object.fromEntries(own) };
  const contentOf = (secret: string, key: string) => {
    const content = all[secret]?.[key];
    if (content === undefined) throw new Error(`There is no Secret ${secret} with ${key}`);
    return content;
  };
  const mounts: readonly { name: string; mountPath: string }[] = containerOf(objects).volumeMounts;
  return new Map(
    mounts.map(({ name, mountPath }) => {
      const path = join(folder, name);
      mkdirSync(path);
      const volume = podOf(objects).volumes.find((one: { name: string }) => one.name === name);
      for (const key of Object.keys(all[volume?.secret?.secretName] ?? {})) {
        writeFileSync(join(path, key), contentOf(volume.secret.secretName, key));
      }
      for (const { secret } of volume?.projected?.sources ?? []) {
        for (const { key, path: file } of secret.items) {
          writeFileSync(join(path, file), contentOf(secret.name, key));
        }
      }
      return [mountPath, path];
    }),
  );
}
