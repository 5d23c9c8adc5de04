import { X509Certificate } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Checked, Condition, KeptFigures, NodeReport } from '../../../asking/facts/servers.ts';
import type { SourceOfServer } from '../../../asking/facts/sources.ts';
import type { DayUsage } from '../../../channels/usage/usage.ts';
import type { MetricId } from '../../../observability/metrics-table.ts';
import type { OpenCircuit } from '../../../push/delivering/ports.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../../runtime/system-timers.ts';
import type { Certificate } from '../../../runtime/tls/certificate.ts';
import type { LiveApps, LiveInstances } from '../../../tenants/live-tenants.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { RealtimeClient } from '../../link/realtime-client.ts';
import { countOpenFiles, readOpenFiles } from '../../open-files.ts';
import type { KeySetReport } from '../key-sets/key-sets.ts';
import { Conditions } from './conditions.ts';
import { FiguresRing } from './figures-ring.ts';
import type { BackgroundMetrics } from './metrics.ts';
import type { DiskSpace, OpenFileCount, UnknownOfTenant, UsedQuota } from './rule.ts';
import { type Sample, Samples, total } from './samples.ts';
import { spareConnections } from './spare-connections.ts';

/** Figures that are requested may be at most this old. */
const FRESH_MS = 1_000;

/** How often today's usage is read. */
const QUOTAS_MS = 60_000;

export interface MonitorOptions {
  readonly realtime: Pick<RealtimeClient, 'askAll'>;
  /** The names of the realtime loops. */
  readonly loops: readonly string[];
  readonly metrics: Pick<BackgroundMetrics, 'measure'>;
  readonly readiness: Readiness;
  readonly webhooks: Pick<Webhooks, 'endpoints'>;
  readonly apps: LiveApps;
  readonly instances: LiveInstances;
  /** Today's usage on all servers. */
  readonly usageToday: () => Promise<readonly DayUsage[]>;
  readonly circuits: () => readonly OpenCircuit[];
  readonly keySets: () => readonly KeySetReport[];
  readonly sources: () => readonly SourceOfServer[];
  /** `channels.maxConnections`; 0: no limit. */
  readonly maxConnections: number;
  /** Connections that the share of the memory allows. */
  readonly memoryAllows: number;
  /** The file of the store; `undefined` if it is a database server. */
  readonly storeFile: string | undefined;
  readonly tls: Certificate | undefined;
  readonly log: Log;
}

/** Measures this server every 10 s, keeps the figures of one day, and evaluates the conditions. */
export class Monitor implements Disposable {
  private readonly options: MonitorOptions;
  private readonly ring = new FiguresRing();
  private readonly conditions = new Conditions();
  private readonly samples: Samples;
  private readonly openFiles = readOpenFiles();
  private certificateEndsAtMs: number | undefined;
  private quotas: readonly UsedQuota[] = [];
  private readQuotasAtMs = 0;
  private isReadingQuotas = false;

  constructor(options: MonitorOptions) {
    const { realtime, metrics } = options;
    this.options = options;
    this.setCertificate(options.tls);
    this.samples = new Samples({
      measure: async () => [...(await realtime.askAll('metrics', {})), metrics.measure()],
      onSample: (sample) => this.measured(sample),
      timers: systemTimers,
      monotonic: monotonicTimers,
    });
  }

  /** Starts measuring. The realtime loops must be able to answer. */
  start(): void {
    this.samples.start();
  }

  setCertificate(tls: Certificate | undefined): void {
    this.certificateEndsAtMs = tls && new X509Certificate(tls.cert).validToDate.getTime();
  }

  async figures(sinceMs: number): Promise<KeptFigures> {
    await this.samples.fresh(FRESH_MS);
    return this.ring.since(sinceMs, systemTimers.now());
  }

  async check(): Promise<Checked> {
    return this.checkNow(await this.samples.fresh(FRESH_MS));
  }

  /** A short report on this server, for the list of servers. */
  async report(): Promise<Omit<NodeReport, 'version' | 'startedAtMs' | 'engine'>> {
    const sample = await this.samples.fresh(FRESH_MS);
    const { conditions } = this.checkNow(sample);
    const { loops, readiness } = this.options;
    const perSecond = (id: MetricId) => {
      const rate = this.samples.perSecond(sample, id);
      return rate === undefined ? undefined : Math.round(rate * 100) / 100;
    };
    const lateOf = (name: string) => {
      const seconds = sample.metrics?.get('loopDelay')?.get(name);
      return seconds === undefined ? undefined : Math.round(seconds * 1_000);
    };
    const atLevel = (level: Condition['level']) =>
      conditions.filter((one) => one.level === level).length;
    return {
      figures: sample.metrics && {
        connections: total(sample, 'connections'),
        eventsPerSecond: perSecond('eventsPublished'),
        deliveredPerSecond: perSecond('messagesDelivered'),
        memoryBytes: total(sample, 'memory'),
        room: spareConnections({
          connections: total(sample, 'connections'),
          maxConnections: this.options.maxConnections,
          memoryAllows: this.options.memoryAllows,
          filesAllow: this.openFiles?.connections,
          availableBytes: process.availableMemory(),
        }),
      },
      threads: [...loops, 'background'].map((name) => ({ name, lateMs: lateOf(name) })),
      notReady: readiness.reasons(),
      bad: atLevel('bad'),
      warn: atLevel('warn'),
    };
  }

  /** The paused gateways of an instance. */
  pausesOf(instanceId: string) {
    return this.circuits().filter((circuit) => circuit.instanceId === instanceId);
  }

  [Symbol.dispose](): void {
    this.samples[Symbol.dispose]();
  }

  private measured(sample: Sample): void {
    if (sample.metrics !== undefined) {
      const { samples } = this;
      const lateSeconds = sample.metrics
        .get('loopDelay')
        ?.entries()
        .filter(([loop]) => loop !== 'background')
        .reduce((most, [, seconds]) => Math.max(most, seconds), 0);
      const resumed = samples.perSecond(sample, 'resumes', 'resumed');
      const resumes = samples.perSecond(sample, 'resumes');
      this.ring.keep(sample.atMs, {
        connections: total(sample, 'connections'),
        deliveredPerSecond: samples.perSecond(sample, 'messagesDelivered'),
        eventsPerSecond: samples.perSecond(sample, 'eventsPublished'),
        loopLateMs: (lateSeconds ?? 0) * 1_000,
        memoryBytes: total(sample, 'memory'),
        webhooksWaiting: total(sample, 'outboxRequests'),
        pushWaiting: total(sample, 'pushPages') + total(sample, 'pushRetries'),
        resumedPerSecond: resumed,
        gapsPerSecond: (resumes ?? 0) - (resumed ?? 0),
      });
    }
    try {
      // Evaluated even when nobody looks, so that the start of each condition is known.
      this.checkNow(sample);
    } catch (error) {
      // A failing rule must not stop the server.
      this.options.log.error('Conditions cannot be checked', { why: messageOf(error) });
    }
  }

  private checkNow(sample: Sample): Checked {
    const { readiness, webhooks } = this.options;
    return this.conditions.check({
      nowMs: systemTimers.now(),
      sample,
      samples: this.samples,
      readiness,
      endpoints: webhooks.endpoints(),
      circuits: this.circuits(),
      keySets: this.options.keySets(),
      sources: this.options.sources(),
      quotas: this.usedQuotas(),
      unknownSettings: this.unknownSettings(),
      files: this.files(),
      disk: this.disk(),
      certificateEndsAtMs: this.certificateEndsAtMs,
    });
  }

  private circuits() {
    const { circuits, instances } = this.options;
    return circuits().flatMap((circuit) => {
      const instance = instances.directory.byNumber(circuit.instance);
      return instance === undefined ? [] : [{ ...circuit, instanceId: instance.id }];
    });
  }

  /** The last value that was read: the store may be unavailable just when conditions are requested. */
  private unknownSettings(): readonly UnknownOfTenant[] {
    const { apps, instances } = this.options;
    return [
      ...apps.unknownSettings.map((one) => ({ noun: 'app' as const, ...one })),
      ...instances.unknownSettings.map((one) => ({ noun: 'instance' as const, ...one })),
    ];
  }

  private usedQuotas(): readonly UsedQuota[] {
    const atMs = monotonicTimers.now();
    if (!this.isReadingQuotas && atMs >= this.readQuotasAtMs) {
      this.readQuotasAtMs = atMs + QUOTAS_MS;
      void this.readQuotas();
    }
    return this.quotas;
  }

  private async readQuotas(): Promise<void> {
    const { usageToday, apps } = this.options;
    this.isReadingQuotas = true;
    try {
      this.quotas = (await usageToday()).flatMap(({ appId, messages, clientMessages }) => {
        const messagesPerDay = apps.directory.byId(appId)?.limits.messagesPerDay ?? 0;
        if (messagesPerDay === 0) return [];
        return [{ appId, messages: messages - clientMessages, messagesPerDay }];
      });
    } catch {
      // An unreadable store has its own condition.
    }
    this.isReadingQuotas = false;
  }

  private files(): OpenFileCount | undefined {
    if (this.openFiles === undefined) return undefined;
    const { limit, threshold } = this.openFiles;
    return { used: countOpenFiles(limit), most: threshold };
  }

  private disk(): DiskSpace | undefined {
    const { storeFile } = this.options;
    if (storeFile === undefined) return undefined;
    const path = dirname(storeFile);
    try {
      const { bavail, blocks, bsize } = statfsSync(path);
      return { path, freeBytes: bavail * bsize, bytes: blocks * bsize };
    } catch {
      // The store's own condition reports a missing directory.
      return undefined;
    }
  }
}
