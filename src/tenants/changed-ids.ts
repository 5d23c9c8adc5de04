/** The ids of what has changed, for one line of the log. */
export interface ChangedIds {
  readonly created?: string;
  readonly changed?: string;
  readonly deleted?: string;
}

/** Compares each list of apps or instances with the one before. */
export class ListChanges<Item extends { readonly id: string }> {
  /** What each was like, by id: those in the list may be changed in place. */
  private known: ReadonlyMap<string, string>;

  constructor(first: readonly Item[]) {
    this.known = textsOf(first);
  }

  /** Says what is different in this list. */
  to(list: readonly Item[]): ChangedIds {
    const before = this.known;
    const now = textsOf(list);
    this.known = now;
    const ids = [...now.keys()];
    return {
      ...named(
        'created',
        ids.filter((id) => !before.has(id)),
      ),
      ...named(
        'changed',
        ids.filter((id) => before.has(id) && before.get(id) !== now.get(id)),
      ),
      ...named(
        'deleted',
        [...before.keys()].filter((id) => !now.has(id)),
      ),
    };
  }
}

function textsOf(list: readonly { readonly id: string }[]): ReadonlyMap<string, string> {
  return new Map(list.map((item) => [item.id, JSON.stringify(item)]));
}

function named(what: keyof ChangedIds, ids: readonly string[]): ChangedIds {
  return ids.length === 0 ? {} : { [what]: ids.join(', ') };
}
