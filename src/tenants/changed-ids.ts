/** The ids of the tenants that one change created, changed and deleted, for the log. */
export interface ChangedIds {
  readonly created?: string;
  readonly changed?: string;
  readonly deleted?: string;
}

/** The settings of each tenant as text, by id. Text, because an app is changed in place. */
export type Snapshot = ReadonlyMap<string, string>;

export function snapshotOf<Tenant extends { readonly id: string }>(
  tenants: readonly Tenant[],
): Snapshot {
  return new Map(tenants.map((tenant) => [tenant.id, JSON.stringify(tenant)]));
}

/** Compares two snapshots. */
export function changedIds(before: Snapshot, after: Snapshot): ChangedIds {
  const ids = [...after.keys()];
  return {
    ...listed(
      'created',
      ids.filter((id) => !before.has(id)),
    ),
    ...listed(
      'changed',
      ids.filter((id) => before.has(id) && before.get(id) !== after.get(id)),
    ),
    ...listed(
      'deleted',
      [...before.keys()].filter((id) => !after.has(id)),
    ),
  };
}

function listed(change: keyof ChangedIds, ids: readonly string[]): ChangedIds {
  return ids.length === 0 ? {} : { [change]: ids.join(', ') };
}
