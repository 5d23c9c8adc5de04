import { afterAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { tagOf, versionOf } from '../../packaging/commit.ts';
import { threadCount } from '../../src/node/realtime/thread-count.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import {
  containerOf,
  environmentOf,
  exampleFile,
  exampleNames,
  helmTemplate,
  type KubernetesObject,
  objectsOf,
  only,
  packChart,
  podOf,
} from './rendered-chart.ts';
import { runTool } from './tools.ts';

const ROOT = join(import.meta.dir, '../..');

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());
const archive = packChart(directory.path);

/** Kinds of other projects, which Kubernetes has no schema for. */
const isForeign = ({ apiVersion }: KubernetesObject) =>
  /^(?:gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//.test(apiVersion);

describe.each(exampleNames)('the chart with the values of %s', (example) => {
  const objects = objectsOf(archive, { example });

  it('passes the checks of Helm', () => {
    const { exitCode, stdout } = runTool('helm', [
      ...['lint', '--strict', '--kube-version', '1.30.0', '--values', exampleFile(example)],
      archive,
    ]);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  it('is valid for the oldest Kubernetes that it names, and for the newest', async () => {
    const file = join(directory.path, `${example}.json`);
    const own = objects.filter((one) => !isForeign(one));
    await Bun.write(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: own }));
    // JSON is YAML; one document for each object, as Helm prints them.
    await Bun.write(file, own.map((one) => JSON.stringify(one)).join('\n---\n'));
    for (const version of [['-k', '1.30'], []]) {
      const { exitCode, stdout, stderr } = runTool('kubernetes-validate', [
        ...['--strict', '--quiet', ...version],
        file,
      ]);
      expect([exitCode, stdout, stderr]).toEqual([0, '', '']);
    }
  });

  it('may run where the namespace enforces the restricted standard', () => {
    const pod = podOf(objects);
    const container = containerOf(objects);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.enableServiceLinks).toBe(false);
  });

  it('leaves the user to OpenShift if its values for that are emptied', () => {
    const values = { podSecurityContext: null, securityContext: null };
    const emptied = objectsOf(archive, { example, values });
    expect(podOf(emptied)).not.toHaveProperty('securityContext');
    expect(containerOf(emptied)).not.toHaveProperty('securityContext');
    const nobody = objectsOf(archive, {
      example,
      values: { podSecurityContext: { runAsUser: null } },
    });
    const { runAsUser: _, ...others } = podOf(objects).securityContext;
    expect(podOf(nobody).securityContext).toEqual(others);
  });

  it('gives the server time to stop', () => {
    const wait = containerOf(objects).lifecycle?.preStop.sleep.seconds ?? 0;
    const drain = Number(environmentOf(objects)['FANFARE_DRAIN_SECONDS']);
    expect(podOf(objects).terminationGracePeriodSeconds).toBe(wait + drain + 15);
  });

  it('selects the pods that it makes, and names ports that they have', () => {
    const { labels } = only(objects, 'Deployment', 'StatefulSet').spec.template.metadata;
    const ports = containerOf(objects).ports.map(({ name }: { name: string }) => name);
    const services = objects.filter(({ kind }) => kind === 'Service');
    expect(services).toHaveLength(2);
    for (const { spec } of services) {
      expect(labels).toMatchObject(spec.selector);
      for (const { targetPort } of spec.ports) expect(ports).toContain(targetPort);
    }
  });
});

describe('the pods', () => {
  it('get a volume of their own for SQLite, and never run two at a time', () => {
    const { kind, spec } = only(objectsOf(archive), 'Deployment', 'StatefulSet');
    expect([kind, spec.replicas]).toEqual(['StatefulSet', 1]);
    expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe('8Gi');
  });

  it('are replaced one by one with Redis, and stopped first without', () => {
    const strategy = (example: string) =>
      only(objectsOf(archive, { example }), 'Deployment').spec.strategy;
    expect(strategy('cluster')).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
    expect(
      only(objectsOf(archive, { example: 'cluster' }), 'Deployment').spec.minReadySeconds,
    ).toBe(15);
    expect(strategy('postgres')).toEqual({ type: 'Recreate' });
  });

  it('leave their Service when they are not ready, only if there are others', () => {
    const path = (example: string) =>
      containerOf(objectsOf(archive, { example })).readinessProbe.httpGet.path;
    expect(path('single')).toBe('/healthz');
    expect(path('configured')).toBe('/fanfare/healthz');
    expect(path('cluster')).toBe('/readyz');
    expect(path('autoscaling')).toBe('/readyz');
  });

  it('run the image of the version of the chart, unless another one is named', () => {
    const image = (values: object) => containerOf(objectsOf(archive, { values })).image;
    expect(image({})).toBe(`ghcr.io/fanfare-server/fanfare:${tagOf(versionOf(ROOT))}`);
    expect(image({ image: { tag: 'x' } })).toEndWith('fanfare:x');
    const digest = `sha256:${'0'.repeat(64)}`;
    expect(image({ image: { tag: 'x', digest } })).toEndWith(`fanfare@${digest}`);
  });

  it.each(['250m', '1', '1500m', '2', '2.9', '3', '8', '64', '200'])(
    'have the threads that the server would choose at a limit of %s CPUs',
    (cpu) => {
      const quota = 100 * (cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000);
      const files: Readonly<Record<string, string>> = {
        '/proc/self/cgroup': '0::/\n',
        '/sys/fs/cgroup/cpu.max': `${quota} 100000\n`,
      };
      const read = (file: string) => files[file];
      const expected = threadCount('auto', 2 ** 40, { platform: 'linux', cores: 256, read });
      const resources = { requests: { cpu: '10m' }, limits: { cpu } };
      const rendered = environmentOf(objectsOf(archive, { values: { resources } }));
      expect(rendered['FANFARE_REALTIME_THREADS']).toBe(String(expected));
    },
  );

  it('have the threads of their CPU request without a limit, and else those of the values', () => {
    const threads = (values: object) =>
      environmentOf(objectsOf(archive, { values }))['FANFARE_REALTIME_THREADS'];
    expect(threads({ resources: { requests: { cpu: '3500m' } } })).toBe('3');
    expect(threads({ resources: { requests: { cpu: null } } })).toBe('auto');
    expect(threads({ realtime: { threads: 5 } })).toBe('5');
  });
});

describe('around the pods', () => {
  const objects = objectsOf(archive, { example: 'cluster' });

  it('Prometheus asks with the password, and for the job that the alerts name', async () => {
    const { spec } = only(objects, 'ServiceMonitor');
    expect(spec.endpoints).toEqual([
      {
        port: 'admin',
        path: '/metrics',
        interval: '15s',
        authorization: {
          type: 'Bearer',
          credentials: { name: 'fanfare-admin', key: 'password' },
        },
        relabelings: [{ targetLabel: 'job', replacement: 'fanfare' }],
      },
    ]);
    const admin = objects.find(({ metadata }) => metadata.name === 'live-fanfare-admin');
    expect(admin?.metadata.labels).toMatchObject(spec.selector.matchLabels);
    expect(admin?.spec.ports[0].name).toBe('admin');
    const alerts = join(ROOT, 'docs/monitoring/alerts.yml');
    expect(only(objects, 'PrometheusRule').spec).toEqual(
      Bun.YAML.parse(await Bun.file(alerts).text()),
    );
  });

  it('gateways end no stream, and each host reaches its product', () => {
    const routes = objects.filter(({ kind }) => kind === 'HTTPRoute');
    expect(routes.map(({ spec }) => [spec.hostnames, spec.rules[0].backendRefs[0].port])).toEqual([
      [['ws.example.com'], 6001],
      [['push.example.com'], 6002],
    ]);
    for (const { spec } of routes) {
      expect(spec.rules[0].timeouts).toEqual({ request: '0s', backendRequest: '0s' });
    }
    const ingress = only(objects, 'Ingress').spec.rules.map(
      (rule: { host: string; http: { paths: { backend: { service: object } }[] } }) => [
        rule.host,
        rule.http.paths[0]?.backend.service,
      ],
    );
    expect(ingress).toEqual([
      ['ws.example.com', { name: 'live-fanfare', port: { name: 'channels' } }],
      ['push.example.com', { name: 'live-fanfare', port: { name: 'push' } }],
    ]);
  });

  it('the admin listener is open to fewer peers than clients are', () => {
    const { ingress, policyTypes } = only(objects, 'NetworkPolicy').spec;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    const [clients, admin] = ingress;
    expect(clients.ports).toEqual([{ port: 'channels' }, { port: 'push' }]);
    expect(admin.ports).toEqual([{ port: 'admin' }]);
    const alone = objectsOf(archive, { values: { networkPolicy: { enabled: true } } });
    expect(only(alone, 'NetworkPolicy').spec.ingress).toEqual([
      { ports: [{ port: 'channels' }, { port: 'push' }] },
      { ports: [{ port: 'admin' }], from: [{ podSelector: {} }] },
    ]);
  });

  it('the autoscaler removes one pod at a time, long after the load has gone', () => {
    const scaled = objectsOf(archive, { example: 'autoscaling' });
    const { spec } = only(scaled, 'HorizontalPodAutoscaler');
    expect(spec.behavior.scaleDown).toEqual({
      stabilizationWindowSeconds: 900,
      policies: [{ type: 'Pods', value: 1, periodSeconds: 300 }],
    });
    expect(only(scaled, 'Deployment').spec.replicas).toBeUndefined();
    expect(only(scaled, 'PodDisruptionBudget').spec.maxUnavailable).toBe(1);
  });
});

describe('values that cannot work', () => {
  const postgres = { type: 'postgres', urlSecret: { name: 'db' } };
  const redis = { type: 'redis', urlSecret: { name: 'redis' } };
  const admin = { passwordSecret: { name: 'admin' } };

  it.each<[string, object, string]>([
    [
      'several pods without Redis',
      { replicas: 3, store: postgres, admin },
      'replicas: more than one pod needs engine.type: redis',
    ],
    [
      'several pods with SQLite',
      { replicas: 3, engine: redis },
      'replicas: more than one pod needs store.type: postgres',
    ],
    [
      'an autoscaler without Redis',
      { autoscaling: { enabled: true }, store: postgres, admin },
      'autoscaling.maxReplicas: more than one pod needs engine.type: redis',
    ],
    [
      'several pods with a password each',
      { replicas: 2, engine: redis, store: postgres },
      'admin.passwordSecret.name: required',
    ],
    [
      'PostgreSQL without an address',
      { store: { type: 'postgres' }, admin },
      'store.urlSecret.name: required',
    ],
    [
      'PostgreSQL at an SQLite path',
      { store: { type: 'postgres' }, admin, config: { store: { url: 'sqlite:x' } } },
      'config.store.url: must begin with postgres://',
    ],
    [
      'an address without PostgreSQL',
      { config: { store: { url: 'postgres://db/x' } } },
      'store.type: must be postgres',
    ],
    ['Redis without an address', { engine: { type: 'redis' } }, 'engine.urlSecret.name: required'],
    [
      'Redis with two addresses',
      { engine: { ...redis, urlsSecret: { name: 'x' } } },
      'engine.urlsSecret.name: cannot be set together',
    ],
    [
      'an address without Redis',
      { config: { engine: { url: 'redis://x' } } },
      'engine.type: must be redis',
    ],
    [
      'a port in the configuration',
      { config: { channels: { port: 80 } } },
      'config.channels.port: the chart sets it, use service.channelsPort',
    ],
    [
      'a drain in the configuration',
      { config: { drainSeconds: 5 } },
      'config.drainSeconds: the chart sets it, use drainSeconds',
    ],
    [
      'a type of engine in the configuration',
      { config: { engine: { type: 'redis' } } },
      'config.engine.type: the chart sets it, use engine.type',
    ],
    [
      'certificates by ACME',
      { config: { tls: { acme: { domains: ['a.example'], email: 'a@example.com' } } } },
      'config.tls.acme: needs port 80',
    ],
    [
      'two configurations',
      { config: { trustedProxies: [] }, existingConfigSecret: { name: 'x' } },
      'config: cannot be set together',
    ],
    [
      'a variable of the chart',
      { env: [{ name: 'FANFARE_ADMIN_PORT', value: '1' }] },
      'env: the chart sets FANFARE_ADMIN_PORT',
    ],
    [
      'an app without a secret',
      { app: { id: '1', key: 'k' } },
      'app: needs id, key and secret.name',
    ],
    [
      'a monitor without the password',
      { serviceMonitor: { enabled: true } },
      'serviceMonitor.enabled: needs admin.passwordSecret.name',
    ],
    [
      'an Ingress without hosts',
      { ingress: { enabled: true } },
      'ingress.enabled: needs ingress.channelsHosts',
    ],
    [
      'a route without a gateway',
      { httpRoute: { enabled: true, pushHosts: ['a.example'] } },
      'httpRoute.enabled: needs httpRoute.parentRefs',
    ],
    ['two ports that are one', { service: { pushPort: 6001 } }, 'service.pushPort: is the same'],
    ['a misspelt value', { replica: 3 }, "additional properties 'replica' not allowed"],
    [
      'a misspelt value in a group',
      { store: { persistance: {} } },
      "at '/store': additional properties 'persistance' not allowed",
    ],
    [
      'a misspelt setting',
      { config: { channels: { hots: 'x' } } },
      "at '/config/channels': additional properties 'hots' not allowed",
    ],
    [
      'a word in place of a number',
      { replicas: 'three' },
      "at '/replicas': got string, want integer",
    ],
  ])('are refused with the reason: %s', (_, values, problem) => {
    const { exitCode, stderr } = helmTemplate(archive, { values });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(problem)]);
  });

  it('are all named at once, and no secret is', () => {
    const values = { replicas: 2, config: { drainSeconds: 1, admin: { password: 'hush' } } };
    const { stderr } = helmTemplate(archive, { values });
    expect(stderr.match(/^ {2}- /gm)).toHaveLength(3);
    expect(stderr).not.toContain('hush');
  });
});
