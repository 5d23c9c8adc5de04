/** One file of the dashboard, as browsers get it. */
export interface Asset {
  readonly contentType: string;
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** The dashboard, ready to be served. */
export interface Bundle {
  readonly page: Asset;
  /** By their names, which contain a hash of the content. */
  readonly assets: ReadonlyMap<string, Asset>;
  /** The assets that the page needs before the log-in. */
  readonly open: ReadonlySet<string>;
}

/** Where browsers find the assets, after the prefix of a proxy. */
export const ASSETS_PATH = '/dashboard/assets/';

export function assetOf(contentType: string, plain: Uint8Array): Asset {
  return {
    contentType,
    plain,
    gzipped: Bun.gzipSync(plain as Uint8Array<ArrayBuffer>, { level: 9 }),
  };
}
