import type { ComponentChildren } from 'preact';

/** The name of a column. Columns of figures are right-aligned. */
export type Column = string | { readonly number: string };

export function TableHead({ columns }: { readonly columns: readonly Column[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column) =>
          typeof column === 'string' ? (
            <th key={column} scope="col">
              {column}
            </th>
          ) : (
            <th key={column.number} scope="col" class="number">
              {column.number}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

/** A table whose rows are cards on a narrow screen. */
export function Table({
  columns,
  children,
}: {
  readonly columns: readonly Column[];
  readonly children: ComponentChildren;
}) {
  return (
    <table class="table cards">
      <TableHead columns={columns} />
      <tbody>{children}</tbody>
    </table>
  );
}
