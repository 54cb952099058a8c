"""The table of formats that `peek` knows: a sniffer and a reader in each row, the most special format first."""

from collections.abc import Callable
from dataclasses import dataclass

from gristmill.peeking import archives, media, sniffers, unread
from gristmill.peeking.draft import Call
from gristmill.peeking.head import Head
from gristmill.peeking.sniffers import Facts


@dataclass(frozen=True)
class Format:
    """A row of the table.

    Attributes:
        name: name for people.
        sniff: function that returns the facts of a file's beginning if it has this format; None if it does not have it.
        module: name of the reader's module, below gristmill.readers or in a wing; empty if no reader reads it.
        reader: name of the reader's class.
    """

    name: str
    sniff: Callable[[Head], Facts | None]
    module: str = ""
    reader: str = ""

    def reader_call(self, source: str, facts: Facts) -> Call | None:
        """The call of the reader for a source; None without a reader."""
        options = {"source": source, **facts.options}
        room = "" if self.module.startswith("energon.") else "readers."
        return Call(f"gristmill.{room}{self.module}", self.reader, options) if self.module else None


FORMATS = (
    Format("for paper", unread.sniff_paper),
    Format("parquet", sniffers.sniff_parquet, "parquet", "ParquetRows"),
    Format("WARC with texts of a crawl (WET)", sniffers.sniff_wet, "web.wet", "WetPages"),
    Format("WARC with metadata of a crawl (WAT)", sniffers.sniff_wat, "web.wet", "WatPages"),
    Format("WARC with pages of a crawl", sniffers.sniff_warc, "web.pages", "WarcPages"),
    Format("archive of an EPUB book", archives.sniff_epub, "books.epub", "EpubBooks"),
    Format("archive of IRC logs", archives.sniff_irc_archive, "chats.irc_logs", "IrcLogs"),
    Format("WebDataset", media.sniff_webdataset, "energon.readers.webdataset", "WebdatasetSamples"),
    Format("archive of a code repository", archives.sniff_code, "code.code_files", "CodeFiles"),
    Format("archive of texts with header fields", archives.sniff_headed_archive, "files.headed_texts", "HeadedTexts"),
    Format("archive of web pages", archives.sniff_html_archive, "files.html_files", "HtmlFiles"),
    Format("archive of texts", archives.sniff_text_archive, "texts", "TextFiles"),
    Format("archive", archives.sniff_other_archive),
    Format("MediaWiki dump", sniffers.sniff_mediawiki, "wiki.pages", "MediaWikiPages"),
    Format("JATS article", sniffers.sniff_jats, "papers.jats", "JatsArticles"),
    Format("Stack Exchange dump (Posts.xml)", sniffers.sniff_posts, "forum.stack_exchange", "StackExchangePosts"),
    Format("web page", sniffers.sniff_html, "files.html_files", "HtmlFiles"),
    Format("XML", sniffers.sniff_other_xml),
    Format("OSCAR 22.01 or 23.01", sniffers.sniff_oscar, "oscar.lines", "OscarLines"),
    Format("Dolma documents", sniffers.sniff_dolma, "dolma", "DolmaLines"),
    Format("Dolma documents with integer ids", sniffers.sniff_dolma_numbered, "jsonl", "JsonLines"),
    Format("Dolma attributes", sniffers.sniff_dolma_attributes),
    Format("OpenAssistant reply trees", sniffers.sniff_reply_trees, "chats.reply_trees", "ReplyTrees"),
    Format("conversations as marked strings", sniffers.sniff_marked_turns, "chats.marked_turns", "MarkedTurns"),
    Format("arXiv LaTeX in JSON lines", sniffers.sniff_redpajama_arxiv, "papers.latex", "LatexLines"),
    Format("Stack Exchange threads in JSON lines", sniffers.sniff_threads, "jsonl", "JsonLines"),
    Format("JSON lines that name media files", media.sniff_media_lines, "energon.readers.json_lines", "EnergonLines"),
    Format("JSON lines", sniffers.sniff_json_lines, "jsonl", "JsonLines"),
    Format("JSON array of conversations", sniffers.sniff_turns_array, "json_array", "JsonArray"),
    Format("JSON array", sniffers.sniff_json_array, "json_array", "JsonArray"),
    Format("JSON that is not UTF-8", sniffers.sniff_encoded_json),
    Format("JSON", sniffers.sniff_other_json),
    Format("checksums", sniffers.sniff_checksums),
    Format("mailbox (mbox)", unread.sniff_mailbox),
    Format("Project Gutenberg book", sniffers.sniff_gutenberg, "books.gutenberg", "GutenbergTexts"),
    Format("IRC log", sniffers.sniff_irc, "chats.irc_logs", "IrcLogs"),
    Format("table with a delimiter", sniffers.sniff_delimited, "delimited", "DelimitedRows"),
    Format("YAML", sniffers.sniff_yaml),
    Format("text with header fields", sniffers.sniff_headed, "files.headed_texts", "HeadedTexts"),
    Format("Markdown", sniffers.sniff_markdown, "texts", "TextFiles"),
    Format("plain text", sniffers.sniff_plain_text, "texts", "TextFiles"),
)
"""The formats, in the order in which they are tried."""

UNKNOWN = Format("unknown", lambda _: Facts())
"""What no row fits."""


def recognise_format(head: Head) -> tuple[Format, Facts]:
    """The format of a file, by its beginning."""
    for each in FORMATS:
        facts = each.sniff(head)
        if facts is not None:
            return each, facts
    return UNKNOWN, Facts()
