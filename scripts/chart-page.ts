import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const VALUES = join(import.meta.dir, '../packaging/helm/fanfare/values.yaml');

/** A value of the chart with what its comment says. */
export interface ChartValue {
  readonly path: readonly string[];
  readonly help: string;
  readonly initial: unknown;
}

/** Reads the values of the chart: each has a comment above it, and one without is a group of others. */
export function chartValues(text: string): readonly ChartValue[] {
  const initial = Bun.YAML.parse(text);
  const values: ChartValue[] = [];
  let path: string[] = [];
  let help = '';
  let explained = Number.POSITIVE_INFINITY;
  for (const line of text.split('\n')) {
    const [, indent = '', comment, key] = /^( *)(?:# (.*)|([\w-]+):.*)?/.exec(line) ?? [];
    const depth = indent.length / 2;
    // What lies in a value that is explained as a whole.
    if (depth > explained && line.trim() !== '') continue;
    if (comment !== undefined) help = comment;
    else if (key === undefined) help = '';
    else {
      explained = Number.POSITIVE_INFINITY;
      path = [...path.slice(0, depth), key];
      if (help !== '') {
        values.push({ path, help, initial: at(initial, path) });
        explained = depth;
      } else if (typeof at(initial, path) !== 'object') {
        throw new Error(`values.yaml: ${path.join('.')} has no comment`);
      }
      help = '';
    }
  }
  return values;
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<string, unknown>> | null)?.[key],
    value,
  );
}

/** Prints the page of the Helm chart. */
export function printChartPage(): string {
  const rows = chartValues(readFileSync(VALUES, 'utf8')).map(
    ({ path, help, initial }) =>
      `| \`${path.join('.')}\` | \`${JSON.stringify(initial)}\` | ${help.replaceAll('|', '\\|')} |`,
  );
  return `${INTRODUCTION}
| value | default | what it does |
|---|---|---|
${rows.join('\n')}
`;
}

const INTRODUCTION = `# Fanfare on Kubernetes

A Helm chart for Kubernetes 1.30 or newer. One pod with SQLite, and nothing else to install:

\`\`\`sh
helm install fanfare fanfare-chart-VERSION.tgz
\`\`\`

Several pods, with a Redis and a PostgreSQL that you have. Their addresses and the password of the dashboard are in Secrets of yours:

\`\`\`yaml
# values.yaml
replicas: 3
engine: { type: redis, urlSecret: { name: fanfare, key: redis-url } }
store: { type: postgres, urlSecret: { name: fanfare, key: postgres-url } }
admin: { passwordSecret: { name: fanfare, key: admin-password } }
config:
  trustedProxies: [10.244.3.0/24]  # where only the pods of your ingress controller are, not the range of all pods
  push: { publicUrl: "https://push.example.com" }
ingress:
  enabled: true
  channelsHosts: [ws.example.com]
  pushHosts: [push.example.com]
  tls: [{ secretName: fanfare-tls, hosts: [ws.example.com, push.example.com] }]
\`\`\`

\`\`\`sh
kubectl create secret generic fanfare --from-literal=redis-url=redis://… --from-literal=postgres-url=postgres://… --from-literal=admin-password=…
helm install fanfare fanfare-chart-VERSION.tgz -f values.yaml
\`\`\`

A misspelt value, a misspelt setting in \`config\`, and values that contradict each other stop \`helm install\` and \`helm upgrade\` with a list of what is wrong.

| topic | what the chart does |
|---|---|
| SQLite | a StatefulSet of one pod with a volume: an update stops the old pod before it starts the new one. Clients are disconnected in between |
| PostgreSQL without Redis | a Deployment of one pod, replaced in the same order: two pods without Redis would not receive each other's events |
| PostgreSQL with Redis | a Deployment that starts each new pod before it stops an old one, and waits \`minReadySeconds\` in between |
| stop of a pod | the kubelet waits \`preStopSeconds\`, while the pod serves as before and proxies learn that it stops; then the server closes its connections over \`drainSeconds\`; 15 s later the kubelet kills it |
| readiness | \`/readyz\` with several pods. \`/healthz\` with a single one, because no other pod could serve its clients while the store is away |
| threads | \`realtime.threads\` follows the CPU limit, or else the CPU request |
| security | user 10001, read-only root file system, no capabilities, the runtime's seccomp profile, no token of Kubernetes. The namespace may enforce the \`restricted\` Pod Security Standard. On OpenShift, \`podSecurityContext: null\` and \`securityContext: null\` leave the user to its security context constraints: the image works as any user with group 0 |
| configuration | a change of \`config\` replaces the pods. After a change of a Secret of yours: \`kubectl rollout restart\` |
| certificates | an Ingress or a Gateway has them. \`tls.acme\` is refused, because its checks need port 80 of the pod |
| monitoring | \`serviceMonitor\`, \`prometheusRule\` and \`httpRoute\` need the custom resources of the Prometheus operator and of the Gateway API |
| an Ingress | proxies must keep idle connections for longer than \`channels.activityTimeoutSeconds\` (120 s). The annotations for ingress-nginx do that |

Keys of APNs and FCM are files: mount a Secret with \`volumes\` and \`volumeMounts\`, and name the file in \`config.push.instances\`.

## Values
`;
