import { computed, signal } from '@preact/signals';
import { home } from '../api/root.ts';

interface Address {
  /** Below `/dashboard`, beginning with a slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly fragment: string;
}

function readAddress(): Address {
  const { pathname, search, hash } = location;
  return {
    path: pathname.slice(home.length).replace(/\/+$/, '') || '/',
    query: Object.fromEntries(new URLSearchParams(search)),
    fragment: hash.slice(1),
  };
}

/** The address in the address bar. */
export const address = signal<Address>(readAddress());

globalThis.addEventListener('popstate', () => {
  address.value = readAddress();
});
globalThis.addEventListener('hashchange', () => {
  address.value = readAddress();
});

/** The path of a page of an app, below `/dashboard`. */
export function inApp(app: string, ...segments: readonly string[]): string {
  return ['/apps', ...[app, ...segments].map(encodeURIComponent)].join('/');
}

/** The path of a page of a push instance, below `/dashboard`. */
export function inInstance(instance: string, ...segments: readonly string[]): string {
  return ['/push', ...[instance, ...segments].map(encodeURIComponent)].join('/');
}

/** The address of a page, for links. */
export function pathTo(
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const kept = Object.entries(query).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  );
  const parameters = new URLSearchParams(kept)
    .toString()
    .replaceAll('%2C', ',')
    .replaceAll('%3A', ':');
  return `${home}${path === '/' ? '' : path}${parameters === '' ? '' : `?${parameters}`}`;
}

/** Shows another page. */
export function go(path: string, query?: Readonly<Record<string, string | undefined>>): void {
  history.pushState(null, '', pathTo(path, query));
  address.value = readAddress();
  scrollTo(0, 0);
}

/** Changes the filters of this page, so that its address gives the same view. A field that is empty leaves. */
export function setQuery(change: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = address.value;
  history.replaceState(null, '', pathTo(path, { ...query, ...change }));
  address.value = readAddress();
}

export function setFragment(fragment: string): void {
  const { pathname, search } = location;
  history.replaceState(null, '', `${pathname}${search}${fragment === '' ? '' : `#${fragment}`}`);
  address.value = readAddress();
}

/** Makes plain links of this page change the page without loading it again. */
export function catchLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.origin !== location.origin) return;
    if (link.pathname !== home && !link.pathname.startsWith(`${home}/`)) return;
    if (link.hash !== '' && link.pathname === location.pathname) return;
    event.preventDefault();
    history.pushState(null, '', link.href);
    address.value = readAddress();
    scrollTo(0, 0);
  });
}

/** The values of a pattern such as `/apps/:app/live` in a path; `undefined` if the path does not match. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) {
      try {
        values[part.slice(1)] = decodeURIComponent(value);
      } catch {
        return undefined;
      }
    } else if (part !== value) return undefined;
  }
  return values;
}

/** The app of the page that is shown. */
export const appOfPage = ownerOfPage('apps');

/** The push instance of the page that is shown. */
export const instanceOfPage = ownerOfPage('push');

function ownerOfPage(section: 'apps' | 'push') {
  return computed(() => {
    const begin = address.value.path.split('/').slice(0, 3).join('/');
    return match(`/${section}/:owner`, begin)?.['owner'] || undefined;
  });
}
