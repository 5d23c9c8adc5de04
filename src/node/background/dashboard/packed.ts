import { type Asset, assetOf, type Bundle } from './assets.ts';

/** One file as text. */
interface PackedFile {
  readonly contentType: string;
  readonly text: string;
}

/** The dashboard as the binary contains it, without sources. */
export interface PackedDashboard {
  readonly page: PackedFile;
  readonly assets: Readonly<Record<string, PackedFile>>;
  readonly open: readonly string[];
}

/** Stands for the prefix of a proxy, which only the server knows. */
export const PREFIX_MARK = '/path-prefix-of-the-proxy';

/** Packs a dashboard that was bundled with `PREFIX_MARK` as its prefix. Throws if a file is not text. */
export function packed({ page, assets, open }: Bundle): PackedDashboard {
  return {
    page: packedFile(page),
    assets: Object.fromEntries(
      Array.from(assets, ([name, asset]) => [name, packedFile(asset)] as const).sort(([a], [b]) =>
        a < b ? -1 : 1,
      ),
    ),
    open: [...open].sort(),
  };
}

function packedFile({ contentType, plain }: Asset): PackedFile {
  return { contentType, text: new TextDecoder('utf-8', { fatal: true }).decode(plain) };
}

/** Unpacks the dashboard for a path prefix. */
export function unpacked({ page, assets, open }: PackedDashboard, pathPrefix: string): Bundle {
  // The prefix is inserted into HTML and into string literals of scripts.
  const prefix = pathPrefix.replace(/["'`\\<>{}$&]/g, percentEncoded);
  const unpackedFile = ({ contentType, text }: PackedFile) =>
    assetOf(contentType, new TextEncoder().encode(text.replaceAll(PREFIX_MARK, () => prefix)));
  return {
    page: unpackedFile(page),
    assets: new Map(Object.entries(assets).map(([name, file]) => [name, unpackedFile(file)])),
    open: new Set(open),
  };
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}
