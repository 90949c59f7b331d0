/** A tool as a server of the Model Context Protocol lists it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** A JSON Schema of type object. */
  readonly inputSchema: object;
  readonly annotations?: { readonly destructiveHint?: boolean | undefined } | undefined;
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
}

/** What a client of the Model Context Protocol is asked for with each request. */
export interface McpRequestOptions {
  /** Aborting it cancels the request. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the request fails. */
  readonly timeout?: number;
}

/** One page of tools. */
export interface McpToolPage {
  readonly tools: readonly McpTool[];
  readonly nextCursor?: string | undefined;
}

/**
 * The part of a connected client of the Model Context Protocol that is used: `Client` of `@modelcontextprotocol/sdk` has it.
 */
export interface McpClient {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions): Promise<McpToolPage>;
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    resultSchema?: undefined,
    options?: McpRequestOptions,
  ): Promise<object>;
}
