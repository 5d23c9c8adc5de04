import type { InstanceSettings } from '../../../config/schema.ts';
import { ApnsGateway } from '../../../gateways/apns/apns-gateway.ts';
import { RecentEnvironments } from '../../../gateways/apns/environments.ts';
import { ProviderTokens, readSigningKey } from '../../../gateways/apns/provider-token.ts';
import { FcmGateway } from '../../../gateways/fcm/fcm-gateway.ts';
import { ProjectRates } from '../../../gateways/fcm/project-rate.ts';
import { unusableGateway } from '../../../gateways/unusable-gateway.ts';
import { Http1Slots } from '../../../gateways/web/http1-slots.ts';
import { PushServices } from '../../../gateways/web/push-services.ts';
import { WebGateway } from '../../../gateways/web/web-gateway.ts';
import { createGuardedLookup, type GuardOptions } from '../../../outgoing/address-guard.ts';
import type { Http2Event } from '../../../outgoing/http2/client.ts';
import type { FindAddresses } from '../../../outgoing/http2/connecting/addresses.ts';
import type { ForwardProxy } from '../../../outgoing/proxy/forward-proxy.ts';
import { createSendRequest } from '../../../outgoing/request.ts';
import type { Resolver } from '../../../outgoing/resolve.ts';
import type { DeliveredInstance, DeliveredInstances } from '../../../push/delivering/ports.ts';
import type { AnyGateway } from '../../../push/delivering/routes/prepared-publish.ts';
import type { Gateway } from '../../../push/gateway.ts';
import { byPlatform, type Platform, platforms } from '../../../push/model/device.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { LiveInstance } from '../../../tenants/push-instance.ts';
import { fcmCredential } from './fcm-credential.ts';
import { readCa, readSettingFile, UnusableSetting } from './setting-files.ts';

const HOUR_MS = 3_600_000;

/** What allows push services at private addresses. */
const ALLOWED_BY = 'web.allowPrivateAddresses of the instance';

/** A gateway setting that cannot be used. The message is for the operator. */
export interface GatewayFault {
  readonly instance: string;
  readonly setting: string;
  readonly why: string;
}

/** The gateway for one platform of an instance. `from` identifies the settings that it was made from. */
interface Made<P extends Platform> {
  readonly from: string;
  /** `false`: a stand-in, because the gateway could not be made. */
  readonly isUsable: boolean;
  readonly gateway: Gateway<P>;
}

/** The gateways of all instances by their ids, for each platform. */
type AllMade = { readonly [P in Platform]: Map<string, Made<P>> };

/**
 * State that gateways share: access tokens that vendors want to be reused, and what we have learned about devices and
 * projects.
 */
interface Learned {
  readonly tokens: ProviderTokens;
  readonly environments: RecentEnvironments;
  readonly projectRates: ProjectRates;
}

export interface InstanceGatewaysOptions {
  readonly log: Log;
  readonly resolver: Resolver;
  readonly proxy: ForwardProxy | undefined;
}

/** The gateways of all instances of this server. */
export class InstanceGateways implements DeliveredInstances, AsyncDisposable {
  private readonly options: InstanceGatewaysOptions;
  private readonly learned = newLearned();
  /** Shared by instances with the same certificates and address rules. */
  private readonly pushServices = new Map<string, PushServices>();
  private readonly http1Slots = new Http1Slots();
  private readonly made: AllMade = byPlatform(() => new Map());
  private instances = new Map<number, DeliveredInstance>();
  private readonly closing = new Set<Promise<void>>();

  constructor(options: InstanceGatewaysOptions) {
    this.options = options;
  }

  byNumber(instance: number): DeliveredInstance | undefined {
    return this.instances.get(instance);
  }

  /**
   * Replaces all instances. A gateway whose settings have not changed stays, with its connections. Gives the gateways that
   * could not be made: those platforms keep the one that they had, or let their devices wait.
   */
  replace(served: readonly LiveInstance[]): readonly GatewayFault[] {
    const faults: GatewayFault[] = [];
    const kept = byPlatform(() => new Set<string>());
    const instances = new Map<number, DeliveredInstance>();
    for (const { instance, settings } of served) {
      const gatewayOf = <P extends Platform>(
        platform: P,
        make: (() => { readonly from: string; open(): Gateway<P> }) | undefined,
      ): Gateway<P> | undefined => {
        if (make === undefined) return undefined;
        kept[platform].add(instance.id);
        const made: Map<string, Made<P>> = this.made[platform];
        try {
          const { from, open } = make();
          return this.keepOrOpen(made, instance.id, { from, isUsable: true, open });
        } catch (error) {
          // A faulty instance must not block changes of the others.
          const setting = error instanceof UnusableSetting ? error.setting : platform;
          const why = messageOf(error);
          faults.push({ instance: instance.id, setting, why });
          // Keep a working gateway: without one, devices would wait, or even be given up.
          const before = made.get(instance.id);
          if (before?.isUsable === true) return before.gateway;
          return this.keepOrOpen(made, instance.id, {
            from: `unusable ${setting}`,
            isUsable: false,
            open: () => unusableGateway(platform, setting),
          });
        }
      };
      const { apns, fcm, web, limits } = settings;
      instances.set(instance.number, {
        id: instance.id,
        pendingBytesMax: limits.pendingPublishBytes,
        retryMs: limits.retryHours * HOUR_MS,
        manners: instance,
        gateways: {
          apns: gatewayOf('apns', apns && (() => this.apnsFrom(instance.id, apns))),
          fcm: gatewayOf('fcm', fcm && (() => this.fcmFrom(instance.id, fcm))),
          web: gatewayOf('web', web && (() => this.webFrom(web))),
        },
      });
    }
    this.instances = instances;
    for (const platform of platforms) this.closeOthers(platform, kept[platform]);
    return faults;
  }

  /**
   * Makes a gateway from new settings, for a check. Nothing that it learns is kept. Throws an error that explains the
   * fault without quoting a file.
   */
  openTrial(platform: Platform, settings: InstanceSettings): AnyGateway | undefined {
    const { id, apns, fcm, web } = settings;
    const learned = newLearned();
    switch (platform) {
      case 'apns':
        return apns && this.apnsFrom(id, apns, learned).open();
      case 'fcm':
        return fcm && this.fcmFrom(id, fcm, learned).open();
      case 'web':
        return web && this.webFrom(web).open();
      default:
        return platform satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const platform of platforms) this.closeOthers(platform);
    await Promise.all(this.closing);
    await Promise.all(
      [...this.pushServices.values()].map((services) => services[Symbol.asyncDispose]()),
    );
  }

  private keepOrOpen<P extends Platform>(
    made: Map<string, Made<P>>,
    instance: string,
    { open, ...about }: Omit<Made<P>, 'gateway'> & { readonly open: () => Gateway<P> },
  ): Gateway<P> {
    const before = made.get(instance);
    if (before?.from === about.from) return before.gateway;
    // The new gateway is made first: if that throws, the old one stays.
    const gateway = open();
    if (before !== undefined) this.close(before.gateway);
    made.set(instance, { ...about, gateway });
    return gateway;
  }

  /** Closes the gateways of all instances but these. */
  private closeOthers(platform: Platform, kept: ReadonlySet<string> = new Set()): void {
    const made = this.made[platform];
    for (const [instance, { gateway }] of made) {
      if (kept.has(instance)) continue;
      made.delete(instance);
      this.close(gateway);
    }
  }

  private close(gateway: AsyncDisposable): void {
    const closed = Promise.resolve(gateway[Symbol.asyncDispose]()).finally(() => {
      this.closing.delete(closed);
    });
    this.closing.add(closed);
  }

  private apnsFrom(
    instance: string,
    settings: NonNullable<InstanceSettings['apns']>,
    learned = this.learned,
  ) {
    const { teamId, keyId, privateKeyFile, privateKey, environment, origin, caFile } = settings;
    const pem = privateKey ?? readSettingFile('apns.privateKeyFile', privateKeyFile).toString();
    const ca = readCa('apns.caFile', caFile);
    const key = readSigningKey(pem);
    if (!key.ok) {
      throw privateKeyFile === undefined
        ? new UnusableSetting('apns.privateKey', key.why)
        : new UnusableSetting('apns.privateKeyFile', `${privateKeyFile}: ${key.why}`);
    }
    return {
      from: JSON.stringify([settings, pem, ca]),
      open: () =>
        new ApnsGateway({
          teamId,
          keyId,
          privateKey: key.key,
          environment,
          ...(origin === null ? {} : { origins: { production: origin, sandbox: origin } }),
          ca,
          nowMs: Date.now,
          tokens: learned.tokens,
          memory: learned.environments,
          findAddresses: this.findFor(instance),
          onEvent: (environment, event) => this.logEvent('apns', environment, event),
        }),
    };
  }

  private fcmFrom(
    instance: string,
    settings: NonNullable<InstanceSettings['fcm']>,
    learned = this.learned,
  ) {
    const { origin, caFile, metadata } = settings;
    const ca = readCa('fcm.caFile', caFile);
    const { credential, text } = fcmCredential(settings);
    const hosts = this.operatorsHosts();
    // The metadata server is beside this machine: a proxy would answer for its own.
    const requestToken = createSendRequest(
      metadata ? { ...hosts, proxy: undefined, ca } : { ...hosts, ca },
    );
    return {
      from: JSON.stringify([settings, text, ca]),
      open: () =>
        new FcmGateway({
          credential,
          ...(origin === null ? {} : { origin }),
          ca,
          requestToken: (request) => requestToken({ ...request, owner: ownerOf(instance) }),
          findAddresses: this.findFor(instance),
          rates: learned.projectRates,
          nowMs: Date.now,
          onEvent: (event) => this.logEvent('fcm', origin ?? 'fcm.googleapis.com', event),
        }),
    };
  }

  private webFrom(settings: NonNullable<InstanceSettings['web']>) {
    const { vapid, allowedHosts, allowPrivateAddresses, declarative, caFile } = settings;
    const ca = readCa('web.caFile', caFile);
    return {
      from: JSON.stringify([settings, ca]),
      open: () =>
        new WebGateway({
          vapid,
          rules: { allowedHosts, allowPrivateAddresses },
          declarative,
          services: this.pushServicesOf(allowPrivateAddresses, ca),
          nowMs: Date.now,
        }),
    };
  }

  private pushServicesOf(allowPrivateAddresses: boolean, ca: string | undefined): PushServices {
    const name = JSON.stringify([allowPrivateAddresses, ca]);
    let services = this.pushServices.get(name);
    if (services === undefined) {
      const { resolver, proxy } = this.options;
      const guard = { allowPrivateAddresses, allowedBy: ALLOWED_BY, resolver, proxy };
      const send = createSendRequest({ ...guard, ca });
      services = new PushServices({
        findAddresses: createGuardedLookup(guard, ownerOfPushService),
        sendOverHttp1: (request) =>
          send({ ...request, owner: ownerOfPushService(new URL(request.url).hostname) }),
        http1Slots: this.http1Slots,
        ca,
        onEvent: (origin, event) => this.logEvent('web', origin, event),
      });
      this.pushServices.set(name, services);
    }
    return services;
  }

  private findFor(instance: string): FindAddresses {
    return createGuardedLookup(this.operatorsHosts(), () => ownerOf(instance));
  }

  /** The operator or a vendor chose these hosts, so private addresses are allowed: a fake gateway may be there. */
  private operatorsHosts(): GuardOptions {
    const { resolver, proxy } = this.options;
    return { allowPrivateAddresses: true, resolver, proxy, passNames: true };
  }

  private logEvent(platform: Platform, where: string, event: Http2Event): void {
    switch (event.event) {
      case 'unreachable':
        this.options.log.warn('Gateway unreachable', { platform, where, why: event.why });
        return;
      case 'reached':
        this.options.log.info('Gateway reachable again', { platform, where });
        return;
      case 'connection-leaving':
      case 'connection-ended':
        this.options.log.debug('Connection to a gateway closed', {
          platform,
          where,
          why: event.why,
        });
        return;
      default:
        event satisfies never;
    }
  }
}

function newLearned(): Learned {
  return {
    tokens: new ProviderTokens(),
    environments: new RecentEnvironments(),
    projectRates: new ProjectRates({ timers: monotonicTimers }),
  };
}

function ownerOf(instance: string): string {
  return `instance ${instance}`;
}

/** All instances share the connections to a push service, so its DNS lookups have a quota of their own. */
function ownerOfPushService(host: string): string {
  return `push service ${host}`;
}
