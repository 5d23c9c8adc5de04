import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** What has an id, and perhaps a name. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

interface TenantsOptions<Tenant extends Named> {
  readonly ask: () => Promise<readonly Tenant[]>;
  /** The one that the page is about. */
  readonly ofPage: ReadonlySignal<string | undefined>;
  /** The key in the browser's storage that keeps the last one. */
  readonly keptAs: string;
}

/** The apps or the push instances that the user may see, and the one that the navigation is about. */
export class ShownTenants<Tenant extends Named> {
  /** `undefined` until the server answered. */
  readonly all = signal<readonly Tenant[] | undefined>(undefined);
  /** The tenant of the page, else the last one, else the first one. */
  readonly current: ReadonlySignal<string | undefined>;
  private readonly options: TenantsOptions<Tenant>;

  constructor(options: TenantsOptions<Tenant>) {
    this.options = options;
    const { ofPage, keptAs } = options;
    this.current = computed(() => {
      if (ofPage.value !== undefined) return ofPage.value;
      const known = this.all.value ?? [];
      const kept = localStorage.getItem(keptAs);
      return (known.find(({ id }) => id === kept) ?? known[0])?.id;
    });
  }

  async ask(): Promise<void> {
    try {
      this.all.value = await this.options.ask();
    } catch {
      // The page itself shows why nothing can be requested.
    }
  }

  /** Whether the server has answered, and knows no tenant with this id. */
  lacks(id: string): boolean {
    return this.all.value?.every((each) => each.id !== id) === true;
  }

  keep(id: string): void {
    localStorage.setItem(this.options.keptAs, id);
  }

  /** What the user calls the one with this id. */
  nameOfId(id: string): string {
    const found = this.all.value?.find((each) => each.id === id);
    return found === undefined ? id : nameOf(found);
  }
}

/** The name of an app or instance, or else its id. */
export function nameOf({ id, name }: Named): string {
  return name === '' ? id : name;
}
