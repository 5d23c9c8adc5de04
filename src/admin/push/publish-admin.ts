import type { InstanceId } from '../../push/model/instance-id.ts';
import type { PublishId, PublishStatus } from '../../push/model/publish.ts';
import { readPublishId } from '../../push/model/publish-id.ts';
import type { AfterCancel, PublishStore } from '../../push/publish-store.ts';
import type { PushTaps } from '../../push/watching/push-tap.ts';
import type { Log } from '../../runtime/ports.ts';
import type { ListedLiveUser, LiveUsersQuery } from '../../stores/push/publishes/live-users.ts';
import type {
  PublishDetails,
  PublishList,
  PublishQuery,
} from '../../stores/push/publishes/publish-list.ts';
import type { MemoryInstanceDirectory } from '../../tenants/instance-directory.ts';
import { OperationRefused } from '../../tenants/operation-refused.ts';

export interface PublishAdminOptions {
  readonly list: Pick<PublishList, 'list' | 'details' | 'instanceOf' | 'liveUsers'>;
  readonly store: Pick<PublishStore, 'status' | 'cancel'>;
  /** The served instances. */
  readonly directory: Pick<MemoryInstanceDirectory, 'byId' | 'byNumber'>;
  /** Shows cancelled publishes in live streams. */
  readonly taps: PushTaps;
  readonly now: () => number;
  readonly log: Log;
}

/** A publish of an instance, as a path names it. */
interface Named {
  readonly instance: InstanceId;
  readonly publish: string;
}

/** Lists, shows and cancels the publishes of instances. Throws `OperationRefused`. */
export class PublishAdmin {
  private readonly options: PublishAdminOptions;

  constructor(options: PublishAdminOptions) {
    this.options = options;
  }

  async list(instance: InstanceId, query: Pick<PublishQuery, 'state' | 'before' | 'limit'>) {
    const { list, now } = this.options;
    return await list.list({ ...query, instance: this.numberOf(instance), nowMs: now() });
  }

  async show(named: Named): Promise<PublishDetails & { readonly status: PublishStatus }> {
    const { list, store } = this.options;
    const at = this.find(named);
    const [status, details] = await Promise.all([
      store.status(at),
      list.details(at.instance, at.id),
    ]);
    if (status === undefined || details === undefined) throw noSuchPublish(named);
    return { ...details, status };
  }

  /** The users of a publish who were asked in the app. */
  async users(
    named: Named,
    query: Pick<LiveUsersQuery, 'state' | 'after' | 'limit'>,
  ): Promise<readonly ListedLiveUser[]> {
    const { instance, id } = this.find(named);
    const users = await this.options.list.liveUsers({ ...query, instance, id });
    if (users === undefined) throw noSuchPublish(named);
    return users;
  }

  async cancel(named: Named): Promise<AfterCancel> {
    const { store, taps, log } = this.options;
    const at = this.find(named);
    const after = await store.cancel(at);
    if (after === undefined) throw noSuchPublish(named);
    if (after.isCancelledNow) {
      const { instance } = named;
      log.info('Publish cancelled', { instance, publish: at.id, by: 'admin-api' });
      taps.watched?.get(at.instance)?.record({ kind: 'cancelled', publish: at.id });
    }
    return after;
  }

  /** The id of the instance that a publish is of; `undefined` if there is no such publish. */
  async instanceOf(publish: string): Promise<string | undefined> {
    const { list, directory } = this.options;
    const id = readPublishId(publish);
    const number = id && (await list.instanceOf(id));
    return number === undefined ? undefined : directory.byNumber(number)?.id;
  }

  private find(named: Named): { instance: number; id: PublishId; nowMs: number } {
    const instance = this.numberOf(named.instance);
    const id = readPublishId(named.publish);
    if (id === undefined) throw noSuchPublish(named);
    return { instance, id, nowMs: this.options.now() };
  }

  private numberOf(id: InstanceId): number {
    const number = this.options.directory.byId(id)?.number;
    if (number === undefined) throw new OperationRefused('not-found', `There is no instance ${id}`);
    return number;
  }
}

export function noSuchPublish({ publish }: Pick<Named, 'publish'>): OperationRefused {
  return new OperationRefused(
    'not-found',
    `There is no publish ${publish.slice(0, 60)}. Publishes are kept for 30 days after their end`,
  );
}
