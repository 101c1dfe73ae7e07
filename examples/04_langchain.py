"""Monograph in a LangChain chain (pip install "monograph[langchain]")."""

import tempfile
from pathlib import Path

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from langchain_monograph import HybridRetriever
from monograph import Monograph

texts = Path(__file__).parent / "texts"
model = FakeListChatModel(responses=["Tobias Renk (logbook/1965-winter.md)."])  # replace it with your model

with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "archive.mono") as archive:
    archive.sync(texts)
    retriever = HybridRetriever(monograph=archive, k=3)
    for document in retriever.invoke("Who repaired the generator in winter?"):
        print(document.metadata["path"])

    prompt = ChatPromptTemplate.from_template("Answer from these passages:\n{passages}\n\nQuestion: {question}")
    passages = retriever | (lambda found: "\n\n".join(document.page_content for document in found))
    chain = {"passages": passages, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    print(chain.invoke("Who repaired the generator in winter?"))
