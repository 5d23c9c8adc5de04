const { pathname } = globalThis.location ?? { pathname: '/dashboard' };

/** The path under which the admin listener is reached: empty, or the prefix of a proxy. */
export const root = pathname.slice(0, Math.max(0, pathname.indexOf('/dashboard')));

/** The path of the first page. */
export const home = `${root}/dashboard`;
