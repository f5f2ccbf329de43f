"""Trains on Parquet with Apache Spark, saves the model, and scores Parquet with it.

    spark-submit --conf spark.pyspark.python=/opt/python/bin/python spark_train.py TRAIN MODEL [NEW SCORED]

TRAIN has columns `text` and `label`, NEW has `text`; SCORED is NEW with `prediction`, `probability`
and `log_odds`. MODEL is a file of the driver, which `tamis label -m MODEL` reads too. The Python named there needs
tamis and pyarrow, on every worker.
"""

import argparse

from pyspark.sql import SparkSession

from tamis.spark import score, train

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", help="Parquet to learn")
    parser.add_argument("model", help="file to write")
    parser.add_argument("new", nargs="?", help="Parquet to score")
    parser.add_argument("scored", nargs="?", help="Parquet to write")
    arguments = parser.parse_args()

    spark = SparkSession.builder.appName("tamis").getOrCreate()
    model = train(spark.read.parquet(arguments.train), "label", "text", n_jobs=-1)
    model.save(arguments.model)
    print(model)
    if arguments.new:
        score(spark.read.parquet(arguments.new), model, "text").write.mode("overwrite").parquet(
            arguments.scored
        )
    spark.stop()
