import type { NewUser } from '../../../push/device-store.ts';
import type { NewDevice } from '../../../push/model/device.ts';
import { type DeviceKind, FURTHER_TOKENS_MAX } from '../../../push/model/token-kind.ts';
import { exclusively } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { DeviceChange, DeviceRow } from './device-rows.ts';

/** A device that is about to get a user, or to be inserted. */
type Joining = Pick<NewDevice, 'platform' | 'kind'>;

interface OtherRow {
  readonly number: BigInteger;
  readonly kind: DeviceKind | null;
}

/**
 * The user's devices that must be removed to make room for another one: those inactive longest. `'full'`: there is no room,
 * and none may be removed.
 */
export async function surplusOf(
  { sql, instance }: DeviceChange,
  { platform, kind }: Joining,
  { userId, max, replaceOldest }: NewUser,
): Promise<readonly BigInteger[] | 'full'> {
  await exclusively(sql, `devices of ${instance} ${userId}`);
  const others: OtherRow[] = await sql`
    SELECT number, kind FROM devices
    WHERE instance = ${instance} AND user_id = ${userId} AND platform = ${platform}
    ORDER BY seen_at, number`;
  if (kind !== undefined) return surplusOfKind(others, kind);
  const ordinary = others.filter((other) => other.kind === null);
  const surplus = ordinary.slice(0, Math.max(0, ordinary.length + 1 - max));
  if (surplus.length > 0 && !replaceOldest) return 'full';
  return surplus.map(({ number }) => number);
}

/** The further tokens of an ordinary one that must be removed to make room for another one. */
export async function surplusOfParent(
  { sql, instance }: DeviceChange,
  { kind, parent }: Pick<NewDevice, 'kind' | 'parent'>,
): Promise<readonly BigInteger[]> {
  if (kind === undefined || parent === undefined) return [];
  await exclusively(sql, `devices of parent ${instance} ${parent}`);
  const others: OtherRow[] = await sql`
    SELECT number, kind FROM devices
    WHERE instance = ${instance} AND parent = ${parent} ORDER BY seen_at, number`;
  return surplusOfKind(others, kind);
}

/** The devices that end with a device: the further tokens of its ordinary one. */
export async function childrenOf(
  { sql, instance }: DeviceChange,
  { number, identity }: DeviceRow,
): Promise<readonly BigInteger[]> {
  const children: { number: BigInteger }[] = await sql`
    SELECT number FROM devices
    WHERE instance = ${instance} AND parent = ${identity} AND number <> ${number}`;
  return children.map(({ number }) => number);
}

/** Those of the same kind are the first to leave. `others` begins with the one inactive longest. */
function surplusOfKind(others: readonly OtherRow[], kind: DeviceKind): readonly BigInteger[] {
  const further = others.filter((other) => other.kind !== null);
  const surplus = Math.max(0, further.length + 1 - FURTHER_TOKENS_MAX);
  const [same, different] = [true, false].map((isSame) =>
    further.filter((other) => (other.kind === kind) === isSame),
  );
  return [...(same ?? []), ...(different ?? [])].slice(0, surplus).map(({ number }) => number);
}
