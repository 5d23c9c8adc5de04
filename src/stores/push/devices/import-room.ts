import type { ImportRequest, ImportRow } from '../../../push/device-moves.ts';
import type { DeviceId, Platform } from '../../../push/model/device.ts';
import { DEVICES_PER_OPEN_HOST, DEVICES_PER_USER } from '../../../push/model/instance.ts';
import type { InstanceCounts } from './instance-counts.ts';

/** The device that has the token of a row. */
export interface TokenHolder {
  readonly number: number;
  readonly id: DeviceId;
  readonly token: string;
  readonly bundleId: string | null;
  readonly isAccepted: boolean;
  /** The import that it is of; `null`: an SDK has registered it. */
  readonly origin: string | null;
  readonly userId: string | null;
}

/** What becomes of a row. */
export type Decision =
  | { readonly status: 'created' }
  | { readonly status: 'updated' | 'unchanged'; readonly known: TokenHolder }
  | { readonly status: 'refused'; readonly why: 'instance-full' | 'user-full' | 'host-full' };

interface Present {
  /** By the identities of their tokens. */
  readonly known: ReadonlyMap<string, TokenHolder>;
  readonly counts: InstanceCounts;
  readonly ofUsers: readonly {
    readonly userId: string;
    readonly platform: Platform;
    readonly devices: number;
  }[];
  /** How many devices there are at push services that the operator has not named. */
  readonly atHosts: ReadonlyMap<string, number>;
  /** How many interests imported devices have, by their numbers. */
  readonly interests: ReadonlyMap<number, number>;
}

/** The room that an instance and its users have for the rows of one request, which take it in turn. */
export class ImportRoom {
  private readonly present: Present;
  private readonly devicesMax: number;
  private readonly interestsMax: number;
  private devices: number;
  private interests: number;
  /** By platform and user. */
  private readonly ofUsers: Map<string, number>;
  private readonly atHosts: Map<string, number>;

  constructor({ devicesMax, interestsMax }: ImportRequest, present: Present) {
    this.present = present;
    this.devicesMax = devicesMax || Number.POSITIVE_INFINITY;
    this.interestsMax = interestsMax || Number.POSITIVE_INFINITY;
    this.devices = present.counts.devices;
    this.interests = present.counts.interests;
    this.atHosts = new Map(present.atHosts);
    this.ofUsers = new Map(
      present.ofUsers.map(({ userId, platform, devices }) => [`${platform} ${userId}`, devices]),
    );
  }

  decide(row: ImportRow): Decision {
    const known = this.present.known.get(row.identity);
    if (known !== undefined && known.origin === null) return { status: 'unchanged', known };
    const before = known === undefined ? 0 : (this.present.interests.get(known.number) ?? 0);
    const interests = this.interests - before + row.interests.length;
    const isMore = row.interests.length > before;
    if (
      (known === undefined && this.devices >= this.devicesMax) ||
      (isMore && interests > this.interestsMax)
    ) {
      return { status: 'refused', why: 'instance-full' };
    }
    const { openHost = '' } = row;
    const atHost = this.atHosts.get(openHost) ?? 0;
    if (known === undefined && openHost !== '' && atHost >= DEVICES_PER_OPEN_HOST) {
      return { status: 'refused', why: 'host-full' };
    }
    if (!this.addToUser(row, known)) return { status: 'refused', why: 'user-full' };
    this.interests = interests;
    if (known !== undefined) return { status: 'updated', known };
    this.devices++;
    this.atHosts.set(openHost, atHost + 1);
    return { status: 'created' };
  }

  private addToUser({ platform, userId }: ImportRow, known: TokenHolder | undefined): boolean {
    if (userId === undefined || userId === known?.userId) return true;
    const name = `${platform} ${userId}`;
    const devices = this.ofUsers.get(name) ?? 0;
    if (devices >= DEVICES_PER_USER) return false;
    this.ofUsers.set(name, devices + 1);
    return true;
  }
}
