import { computed, signal } from '@preact/signals';
import { type Answer, call } from '../api/client.ts';
import { appOfPage } from '../routing/router.ts';

export type ShownApp = Answer<'GET /apps'>['apps'][number];

/** The apps that the user may see; `undefined` until the server answered. */
export const apps = signal<readonly ShownApp[] | undefined>(undefined);

const KEPT_AS = 'fanfare.app';

export async function askApps(): Promise<void> {
  try {
    apps.value = (await call('GET /apps')).apps;
  } catch {
    // The page that is shown says why nothing can be asked.
  }
}

/** The app that the navigation is about: that of the page, else the last one, else the first one. */
export const currentApp = computed(() => {
  const known = apps.value ?? [];
  const wanted = appOfPage.value ?? localStorage.getItem(KEPT_AS) ?? undefined;
  return wanted !== undefined &&
    (appOfPage.value !== undefined || known.some(({ id }) => id === wanted))
    ? wanted
    : known[0]?.id;
});

export function keepApp(id: string): void {
  localStorage.setItem(KEPT_AS, id);
}

/** An app's name, or its id where it has none. */
export function nameOf({ id, name }: Pick<ShownApp, 'id' | 'name'>): string {
  return name === '' ? id : name;
}

/** What the user calls the app with this id. */
export function nameOfId(id: string): string {
  const app = apps.value?.find((each) => each.id === id);
  return app === undefined ? id : nameOf(app);
}
